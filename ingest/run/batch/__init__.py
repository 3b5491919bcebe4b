"""Turn the messages of one table into rows and commit them."""
