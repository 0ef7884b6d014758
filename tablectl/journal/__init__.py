"""The append-only record of all that the table did."""
