"""`[iceberg]`: the catalog of the tables that are Iceberg tables too."""

import attrs

from ingest.config.rules import not_empty
from ingest.settings.secret import mask_properties


@attrs.frozen
class IcebergSettings:
    """The Iceberg catalog of tables with `[target] also = ["iceberg"]`.  Needs the extra `[iceberg]`."""

    catalog: str = attrs.field(
        default="",
        metadata={
            "help": "Name of the catalog in pyiceberg's configuration, which `properties` complete. See "
            "[Iceberg](../iceberg.md)."
        },
    )
    namespace: str = attrs.field(
        default="ingest",
        validator=not_empty,
        metadata={"help": "Namespace of the tables in the catalog. The first table creates it."},
    )
    properties: dict[str, str] = attrs.field(
        factory=dict,
        repr=mask_properties,
        metadata={
            "help": "Properties of the catalog by pyiceberg's names, such as "
            '`type = "rest"` and `uri = "http://catalog-1:8181"`.'
        },
    )
