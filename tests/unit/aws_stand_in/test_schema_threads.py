"""The SDK is looked into by many threads at once."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own, because a module is loaded once.
PROGRAM = """
import threading
from mlcc_rehearsal.plugins.aws import schema
failed = []
def look():
    try:
        schema.function("aws:ec2/getSubnets:getSubnets")
    except Exception as error:
        failed.append(error)
threads = [threading.Thread(target=look) for _ in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
"""


def test_modules_of_the_sdk_are_loaded_by_one_thread_at_a_time() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
