"""Tables in PostgreSQL's publications whose changes do not arrive whole, or fail, and dead slots.

Each query returns schema, table, and a name to show.  Those of slots return no table.  Options of newer
versions are read as JSON, because PostgreSQL 10 lacks their columns.
"""

from ingest.sources.database import Trap
from ingest.sql.template import sql

# `pg_publication_tables` lists the partitions of a table, or the table itself if the publication goes via it.
_PUBLISHED = sql(
    "published as (select c.oid, n.nspname, c.relname, c.relispartition, c.relreplident, p.pubname, "
    "p.pubupdate or p.pubdelete as rewrites, to_jsonb(p) as options from pg_publication p "
    "join pg_publication_tables t on t.pubname = p.pubname "
    "join pg_namespace n on n.nspname = t.schemaname "
    "join pg_class c on c.relnamespace = n.oid and c.relname = t.tablename)"
)
_PARTITIONED = sql(
    "with recursive {published}, up as (select oid, pubname from published where relispartition "
    "union select i.inhparent, up.pubname from up join pg_inherits i on i.inhrelid = up.oid) "
    "select n.nspname::text, c.relname::text, "
    "format('%I.%I in publication %I', n.nspname, c.relname, up.pubname) "
    "from up join pg_class c on c.oid = up.oid join pg_namespace n on n.oid = c.relnamespace "
    "where c.relkind = 'p' and not c.relispartition order by 1, 2, 3",
    published=_PUBLISHED,
)
_KEYLESS = sql(
    "with {published} select distinct nspname::text, relname::text, format('%I.%I', nspname, relname) "
    "from published where rewrites and (relreplident = 'n' or (relreplident = 'd' and not exists "
    "(select 1 from pg_index i where i.indrelid = published.oid and i.indisprimary))) order by 1, 2",
    published=_PUBLISHED,
)
_COLUMNS = sql(
    "with {published} select distinct nspname::text, relname::text, "
    "format('%I.%I.%I', nspname, relname, a.attname) from published "
    "join pg_attribute a on a.attrelid = published.oid and a.attnum > 0 and not a.attisdropped "
    "left join pg_type y on y.oid = a.atttypid left join pg_type e on e.oid = y.typelem "
    "where {condition} order by 1, 2, 3",
    published=_PUBLISHED,
)
_SLOTS = sql(
    "select '', '', format({shown}, slot_name, pg_size_pretty(pg_wal_lsn_diff(case when "
    "pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, restart_lsn))) "
    "from pg_replication_slots s where slot_type = 'logical' and database = current_database() "
    "and coalesce(to_jsonb(s) ->> 'wal_status', '') {condition} order by 3"
)

POSTGRES_TRAPS = (
    Trap(
        _SLOTS.of(shown=sql("'%I keeps %s of the log'"), condition=sql("<> 'lost' and not active")),
        "nothing reads a replication slot: its connector is not running, and PostgreSQL keeps its log until "
        "the disk is full",
        "Start the connector. Drop an unused slot with `select pg_drop_replication_slot('…')`",
        is_problem=True,
    ),
    Trap(
        _SLOTS.of(shown=sql("'%I'"), condition=sql("= 'lost'")),
        "PostgreSQL has removed log that a replication slot needs: changes are missing in its topics",
        "Drop the slot, let the connector take a new snapshot, and run `ingest verify`",
        is_problem=True,
    ),
    Trap(
        _PARTITIONED,
        "PostgreSQL publishes changes of a partitioned table under its partitions: its own topic keeps the "
        "snapshot",
        "Run `alter publication … set (publish_via_partition_root = true)`, and set "
        "publish.via.partition.root = true in the connector",
    ),
    Trap(
        _KEYLESS,
        "PostgreSQL refuses updates and deletes of a published table without a primary key",
        "Add the key, run `alter table … replica identity full`, or take the table out of the publication",
        is_problem=True,
    ),
    Trap(
        _COLUMNS.of(
            condition=sql(
                "coalesce(to_jsonb(a) ->> 'attgenerated', '') <> '' "
                "and coalesce(options ->> 'pubgencols', 'n') = 'n'"
            )
        ),
        "generated columns are in a snapshot and not in later changes, which make them null",
        "Exclude them in [columns], and compute them with `sql`",
    ),
    Trap(
        _COLUMNS.of(condition=sql("a.attndims > 1")),
        "arrays of several dimensions arrive without their values",
        "Exclude them in [columns], or keep them as jsonb in the source",
    ),
    Trap(
        _COLUMNS.of(condition=sql("'c' in (y.typtype, e.typtype)")),
        "columns of composite types are not sent",
        "Keep them as jsonb in the source if the table needs them",
    ),
)
