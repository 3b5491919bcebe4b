"""Events become one row a key: the newest by source position."""
