"""The source's own final rows, as a judge that shares no code with the product.

A recording holds them as text in the source's spelling; a table gives Spark's values.  Both are brought to
the same Python values, and compared cell by cell.
"""

from tests.e2e.referee.rows import Expected, Rows, differences, read_expected, read_table

__all__ = ["Expected", "Rows", "differences", "read_expected", "read_table"]
