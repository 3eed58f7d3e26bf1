"""What the tests share. Folders: ``unit`` (no engine), ``engine`` (the real engine), ``field`` (field reports)."""
