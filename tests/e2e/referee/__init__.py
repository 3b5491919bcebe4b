"""The source's own final rows: a referee that shares no code with the product.

A recording holds them as text in the source's format; a table holds Spark values.  Both are converted to the
same Python values and compared cell by cell.
"""

from tests.e2e.referee.rows import Expected, Rows, differences, read_expected, read_table

__all__ = ["Expected", "Rows", "differences", "read_expected", "read_table"]
