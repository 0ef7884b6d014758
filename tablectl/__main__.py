"""`python -m tablectl` is `tablectl`."""

from tablectl.cli.main import main

main()
