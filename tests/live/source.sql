-- The source at the start: what the engine's first snapshot reads.
create schema inv;
create extension hstore schema public;
create extension citext schema public;
create extension ltree schema public;
create type inv.mood as enum ('sad', 'ok', 'happy');
create table inv.debezium_signal (id varchar(64) primary key, type varchar(32) not null, data varchar(2048));

create table inv.customers (
    id int primary key, first_name text not null, nick varchar(20) default 'nn', age int,
    balance numeric(12,2) not null default 0, active boolean default true,
    created timestamptz not null default now(), touched timestamp(3), version int not null default 0
);
create table inv.order_lines (
    order_id bigint, line_no int2, sku varchar(30) not null, qty int, price numeric(18,6), note text,
    primary key (order_id, line_no)
);
create table inv.docs (
    id int primary key, title text, body text, attach bytea, meta jsonb, tags text[], n int not null default 0
);
-- Stored apart whatever it compresses to: an update that leaves a column alone does not send it.
alter table inv.docs alter body set storage external, alter attach set storage external,
    alter meta set storage external, alter tags set storage external;
create table inv.nopk (k1 int not null, k2 varchar(10) not null, v text, amount numeric(10,3));
alter table inv.nopk replica identity full;
create table inv."Weird Table" (
    "the key" int primary key, "weird-name 1" text, "Mixed Case" text, "select" int, "1st" text,
    "dollar$" text, "üñ" text
);
create table inv.widepk (id int primary key, v text, n int not null default 0);
create table inv.scratch (id int primary key, v text);

insert into inv.customers (id, first_name, age, balance, touched)
    select i, 'name ' || i, i, i * 1.01, '2024-01-01'::timestamp + i * interval '1 hour 1 ms'
    from generate_series(1, 60) i;
insert into inv.order_lines
    select i / 4, i % 4, 'sku ' || i, i, i / 7.0, case when i % 3 = 0 then 'note ' || i end
    from generate_series(1, 60) i;
insert into inv.docs
    select i, 'title ' || i, repeat(md5(i::text), 200), decode(repeat(md5(i::text), 200), 'hex'),
        jsonb_build_object('text', repeat(md5(i::text), 200)), array[repeat(md5(i::text), 200), null]
    from generate_series(1, 12) i;
insert into inv.nopk select i, 'k' || i % 3, 'v ' || i, i / 8.0 from generate_series(1, 10) i;
insert into inv."Weird Table" values (1, 'a', 'b', 2, 'c', 'd', 'e'), (2, null, '', null, ' ', '🙂', 'ñ');
insert into inv.widepk select i, 'v ' || i from generate_series(1, 15) i;
insert into inv.scratch select i, 'v ' || i from generate_series(1, 20) i;

create table inv.all_types (
    id int primary key, i2 int2, i4 int, i8 bigint, f4 real, f8 float8, num numeric,
    num38 numeric(38,10), num45 numeric(45,3), num5 numeric(5,0), mon money, bo boolean, ch char(5),
    vc varchar(20), tx text, ci citext, "by" bytea, da date, ti time, ti0 time(0), ti3 time(3),
    tz timetz, ts timestamp, ts0 timestamp(0), ts3 timestamp(3), tstz timestamptz, iv interval,
    js json, jb jsonb, uu uuid, xm xml, ine inet, cid cidr, mac macaddr, b1 bit(1), b8 bit(8),
    vb varbit(12), r4 int4range, rts tstzrange, rn numrange, ta text[], ia int[], la bigint[],
    da_a date[], na numeric(10,2)[], ba boolean[], en inv.mood, pt point, hs hstore, lt ltree, oi oid
);
-- nothing; the upper ends; infinity, NaN and what is empty; years BC and the largest; ordinary values
insert into inv.all_types (id) values (1);
insert into inv.all_types values (
    '2', '32767', '2147483647', '9223372036854775807', '3.4028235e+38', '1.7976931348623157e+308',
    '-0.000000000000000000000000000001', '-0.0000000001', '-0.001', '-99999',
    '$92,233,720,368,547,758.07', 'false', '', '', '', '', '\x', '9999-12-31', '24:00:00', '24:00:00',
    '23:59:59.999', '23:59:59.999999-11:30', '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59',
    '9999-12-31 23:59:59.999', '9999-12-31 23:59:59.999999+00', 'P-1Y-2M3DT-4H', '[]', '[]',
    '00000000-0000-0000-0000-000000000000', '<b/>', '::1/128', '2001:db8::/32', 'ff:ff:ff:ff:ff:ff',
    '0', '00000001', '', 'empty', '(,)', '(,5)', '{}', '{}', '{}', '{}', '{}', '{}', 'sad', '(0,0)',
    '', 'top', '0'
);
insert into inv.all_types values (
    '3', '0', '0', '0', 'NaN', 'NaN', '10000000000000000000000000000000000000000', '0.0000000000',
    '0.000', '0', '$0.00', null, 'sp', ' lead', E'line1\nline2', null, '\xdeadbeef', 'infinity',
    '12:00:00', '12:00:00', '12:00:00', '12:00:00+00', 'infinity', '2000-01-01 00:00:00',
    '2000-01-01 00:00:00', 'infinity', 'PT0S', 'null', 'null', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    null, 'fe80::1/128', '0.0.0.0/0', '00:00:00:00:00:00', null, '11111111', '111111111111', '(,)',
    'empty', 'empty', '{{a,b},{c,d}}', '{1}', '{0}', '{infinity}', '{0.00}', '{}', 'happy',
    '(1e+300,-1e-300)', '"a"=>""', 'a', '1'
);
insert into inv.all_types values (
    '4', '1', '1', '1', 'Infinity', '-Infinity', 'NaN', '1.0000000000', '1.000', '1', '$1.00', 'true',
    '中文', '🙂', E'tab\t"q"\\', null, null, '0044-03-15 BC', '00:00:00.000001', '00:00:00', '00:00:00',
    '00:00:00+00', '0044-03-15 12:00:00 BC', '2000-01-01 00:00:00', '2000-01-01 00:00:00', '-infinity',
    'P10000Y', '"s"', '1e400', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', null, '1.2.3.4/32', null, null,
    '1', '00000000', '000', '[1,2)', null, null, '{"{x}"}', null, null, null, null, null, 'ok', null,
    null, null, '7'
);
insert into inv.all_types values (
    '5', '-32768', '-2147483648', '-9223372036854775808', '-1.5', '-2.25', '123.456',
    '1234567890123456789012345678.0123456789', '123456789012345678901234567890123456789012.125',
    '99999', '-$12.34', 'true', 'ab', 'vc', 'tx', 'CiText', '\x00ff', '0001-01-01', '00:00:00',
    '23:59:59', '12:34:56.789', '13:51:30.123789+02', '0001-01-01 00:00:00', '2016-11-04 13:51:30',
    '2016-11-04 13:51:30.123', '2016-11-04 11:51:30.123456+00', 'P1Y2M3DT4H5M6.78S',
    '{"a": 1, "b":[null,1.0e2]}', '{"a": {"é": "ü"}, "z": 1}', '6f5a1a0e-2b2f-4bd5-8b1a-0123456789ab',
    '<a>x</a>', '192.168.0.1/24', '10.0.0.0/8', '08:00:2b:01:02:03', '1', '10101010', '110', '[1,10)',
    '["2020-01-01 00:00:00+00","2021-01-01 00:00:00+00")', '(0.5,1.5]', '{a,NULL,"c,d",""}',
    '{1,NULL,-3}', '{9223372036854775807}', '{2020-02-29,NULL}', '{1.10,-2.25}', '{t,f,NULL}', 'ok',
    '(1.5,-2)', '"k"=>"v", "n"=>NULL', 'a.b.c', '4294967295'
);
