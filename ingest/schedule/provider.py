"""Provider metadata for Airflow: entry point `apache_airflow_provider`."""

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Describe this distribution to `airflow providers`."""
    return {
        "package-name": "hudi-cdc-ingest",
        "name": "ingest",
        "description": "Change events in Kafka become Apache Hudi tables: operators, a task group, DAGs.",
        "integrations": [
            {
                "integration-name": "Apache Hudi",
                "external-doc-url": "https://hudi.apache.org/",
                "tags": ["apache"],
            }
        ],
        "operators": [
            {
                "integration-name": "Apache Hudi",
                "python-modules": [
                    "ingest.schedule.operator",
                    "ingest.schedule.maintain",
                    "ingest.schedule.submit",
                ],
            }
        ],
        "config": {
            "ingest": {
                "description": "Links to the pages that `ingest pages --to FOLDER` writes.",
                "options": {
                    "pages_url": {
                        "description": "Address of that folder. The log of a failed task then ends with "
                        "the link of each failed table's page: <pages_url>/table/<table>.html.",
                        "version_added": "0.2.0",
                        "type": "string",
                        "example": "https://lake.example.com/ingest",
                        "default": "",
                    }
                },
            }
        },
    }
