"""The `kerasbert` command."""
