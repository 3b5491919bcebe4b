-- One row for each planted fault: all rows are alike.
create table inv.typed (
    id int primary key, i2 int2, i4 int, i8 bigint, f4 real, f8 float8, num numeric, num2 numeric(12,2),
    num10 numeric(38,10), num45 numeric(45,3), num5 numeric(5,0), mon money, bo boolean, ch char(5),
    vc varchar(20), tx text, em text, nu text, ci citext, "by" bytea, da date, ti time, ti0 time(0),
    ti3 time(3), tz timetz, ts timestamp, ts0 timestamp(0), ts3 timestamp(3), tstz timestamptz, iv interval,
    js json, jb jsonb, uu uuid, xm xml, ine inet, cid cidr, mac macaddr, b1 bit(1), b8 bit(8), vb varbit(12),
    r4 int4range, rts tstzrange, rn numrange, ta text[], ia int[], la bigint[], da_a date[],
    na numeric(10,2)[], ba boolean[], en inv.mood, pt point, lt ltree, oi oid
);
insert into inv.typed select i, 7, 7, 9007199254740993, 1.5, 0.1, 123.456, 1234.50, 0.0000000001, 12.125, 99999,
    '$1.05', true, 'ab', 'Ab', 'tail ', '', null, 'CiText', '\x00ff', '2024-02-29', '12:34:56.789012', '12:34:56',
    '12:34:56.789', '13:51:30.123789+02', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56',
    '2024-02-29 12:34:56.789', '2024-02-29 23:30:00+00', 'P1DT1S', '{"a": 1}', '{"a": 1}',
    '6f5a1a0e-2b2f-4bd5-8b1a-0123456789ab', '<a/>', '192.168.0.1/24', '10.0.0.0/8', '08:00:2b:01:02:03',
    '1', '10101010', '110', '[1,10)', '["2020-01-01 00:00:00+00","2021-01-01 00:00:00+00")', '(0.5,1.5]',
    '{a,NULL,"n"}', '{1,NULL,-3}', '{1,2}', '{2020-02-29,NULL}', '{1.10}', '{t,f,NULL}', 'ok', '(1.5,-2)', 'a.b', 7
    from generate_series(1, 60) i;
-- A key of instants keeps the connector's text, also of what no timestamp can hold.
create table inv.moments (k timestamptz primary key, i bit(8));
insert into inv.moments select '2024-03-31 01:30:00.7+01'::timestamptz + i * interval '1 h', i::bit(8)
    from generate_series(1, 9) i;
insert into inv.moments values
    ('infinity', b'101'::bit(8)), ('-infinity', null), ('0044-03-15 12:00:00+00 BC', null),
    ('10000-01-01 00:00:00+00', null);
create table inv.texts (k text primary key, v int);
insert into inv.texts values ('a', 1), ('B', 2), ('b', 3), ('ä', 4), ('Z', 5), ('aa', 6), ('a b', 7), (',n', 8), ('🙂', 9);
create table inv.hidden (id int primary key, v text);
insert into inv.hidden values (1, 'x');
create role reader login;
grant usage on schema inv to reader;
create table inv.repaired (id int primary key, v text);
insert into inv.repaired select i, 'r ' || i from generate_series(101, 110) i;
create table inv.dropped (id int primary key, v text, w int);
insert into inv.dropped values (1, 'x', 1), (2, 'y', 2);
-- Letters in either case are one key.
create collation inv.caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
create table inv.cased (k text collate inv.caseless primary key, v int);
insert into inv.cased values ('a', 1), ('B', 2), ('c', 3);
-- For a table of chosen rows and columns.
create table inv.chosen (id int primary key, country text, email text, first text, last text);
insert into inv.chosen select i, (array['NO', 'SE'])[i % 2 + 1], 'a' || i || '@b.c', 'f ' || i, 'l ' || i
    from generate_series(1, 40) i;

-- Numbers with zeros behind the point, which a snapshot keeps and an event may not; a computed column of one.
create table inv.numbers (
    id int primary key, n numeric, g numeric generated always as (n / 3) stored, big numeric(50,5)
);
insert into inv.numbers (id, n, big)
    values (1, 3.0000000000000000, 1.50000), (2, 0.50, 0), (3, 100, 1e40), (4, -0.0, -1.1), (5, null, null);
-- A column that changes its type, in another column of the table: the registry's rule accepts that.
create table inv.evolved (id int primary key, a text, b text);
insert into inv.evolved select i, 'a' || i, 'b' from generate_series(1, 5) i;
