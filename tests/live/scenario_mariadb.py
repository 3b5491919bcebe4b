"""The changes that MariaDB's live tests and its recording make, apart from random ones."""

# Every kind of value once more, streamed this time.
COPY_ALL_TYPES = """
use inv; set time_zone = '+00:00'; set sql_mode = ''; begin;
create temporary table copied select * from all_types; update copied set id = id + 10;
insert into all_types select * from copied; commit; drop temporary table copied;
update all_types set id = id + 10, i4 = 7 where id > 12; delete from all_types where id = 11;
"""
NEW_COLUMNS = """
use inv;
alter table customers add column loyalty decimal(8,3), add column is_new boolean not null default 1;
alter table order_lines add column channel varchar(10) default 'web' after qty;
insert into order_lines (order_id, line_no, sku) select 21, seq, 'sku' from seq_1_to_5;
update customers set loyalty = id / 8.0 where id % 3 = 0;
create table late (id int primary key, v text, b boolean, j json);
insert into late values (1, 'one', true, '{"a": 1}'), (2, 'two', false, null);
"""
# Debezium sends no event of a new column's default: a row has it from its next event on.
WIDER = """
use inv;
alter table customers modify age bigint; alter table widepk modify id bigint;
update customers set age = 9223372036854775807 where id % 5 = 0;
update customers set loyalty = coalesce(loyalty, 0) + 1; update order_lines set qty = if(qty = 7, 8, 7);
insert ignore into widepk (id, v) values (9223372036854775807, 'wide');
update widepk set v = 'after' where id < 10;
"""
TRUNCATE = "use inv; truncate scratch; insert into scratch values (1, 'same'), (50, 'new');"
SIGNAL = """
insert into {signals} values (uuid(), 'execute-snapshot',
    '{{"type": "incremental", "data-collections": ["inv.customers", "inv.order_lines"]}}');
"""
LAST = "update inv.customers set nick = 'last' where id < 9; delete from inv.order_lines where order_id = 3;"
