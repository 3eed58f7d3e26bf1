"""A Pulumi language host for Python programs.

The engine starts one for each command that runs a program: it reads the host's port from the first line of
its output and asks it, over the gRPC service ``pulumirpc.LanguageRuntime``, which packages the program needs,
and to run the program. The official host is a Go program that ships in Pulumi's release archive only; this
one is for machines where the engine had to be built from Go modules.

This folder is copied into the engine's cache and runs there with an interpreter of its own, so it imports
nothing of the rest of mlcc-infra: only the standard library, grpc and Pulumi's protocol classes. The program
itself runs in the environment that Pulumi.yaml names (see :mod:`.environment`).

Sources of the behaviour: the protocol's documentation in ``pulumi.runtime.proto.language_pb2_grpc`` and the
official host of Pulumi 3.259 (``sdk/python/cmd/pulumi-language-python``), whose words for errors are kept
where users and tools know them.
"""
