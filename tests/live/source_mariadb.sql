-- The source at the start: what the connector's first snapshot reads.
create database inv default charset utf8mb4;
use inv;
set time_zone = '+00:00';
create table debezium_signal (id varchar(64) primary key, type varchar(32) not null, data varchar(2048));
-- Rows that tell what has arrived in Kafka: not a table of the lake.
create table marks (id varchar(40) primary key);

create table customers (
    id int primary key, first_name varchar(60) not null, nick varchar(20) default 'nn', age int,
    balance decimal(12,2) not null default 0, active boolean default true,
    created timestamp(6) not null default current_timestamp(6), touched datetime(3), version int not null default 0
);
create table order_lines (
    order_id bigint, line_no smallint, sku varchar(30) not null, qty int, price decimal(18,6), note text,
    primary key (order_id, line_no)
);
create table texts (k varchar(20) collate utf8mb4_general_ci primary key, v int);
create table nopk (k1 int not null, k2 varchar(10) not null, v text, amount decimal(10,3));
create table `Weird Table` (
    `the key` int primary key, `weird-name 1` text, `Mixed Case` text, `select` int, `1st` text,
    `dollar$` text, `üñ` text
);
create table widepk (id int primary key, v text, n int not null default 0);
create table scratch (id int primary key, v text);

insert into customers (id, first_name, age, balance, touched)
    select seq, concat('name ', seq), seq, seq * 1.01, '2024-01-01' + interval seq * 3600001000 microsecond
    from seq_1_to_60;
insert into order_lines
    select seq div 4, seq % 4, concat('sku ', seq), seq, seq / 7, if(seq % 3 = 0, concat('note ', seq), null)
    from seq_1_to_60;
insert into texts values ('a', 1), ('B', 2), ('ä2', 3), ('Z', 5), ('aa', 6), ('a b', 7), (',n', 8), ('🙂', 9);
insert into nopk select seq, concat('k', seq % 3), concat('v ', seq), seq / 8 from seq_1_to_10;
insert into `Weird Table` values (1, 'a', 'b', 2, 'c', 'd', 'e'), (2, null, '', null, ' ', '🙂', 'ñ');
insert into widepk (id, v) select seq, concat('v ', seq) from seq_1_to_15;
insert into scratch select seq, concat('v ', seq) from seq_1_to_20;

-- No inet4 or inet6: the connector's parser of DDL stops at them.
create table all_types (
    id int primary key, t1 tinyint(1), ti tinyint, tu tinyint unsigned, si smallint, su smallint unsigned,
    mi mediumint, mu mediumint unsigned, i4 int, iu int unsigned, iz int(10) unsigned zerofill, i8 bigint,
    bu bigint unsigned, de decimal(12,2), d0 decimal(5,0), d38 decimal(38,10), d65 decimal(65,30),
    du decimal(10,3) unsigned, fl float, f5 float(7,3), db double, bo boolean, b1 bit(1), b8 bit(8), b64 bit(64),
    ch char(5), chb char(5) character set latin1, vc varchar(20), vl varchar(20) character set latin1,
    tt tinytext, tx text, mt mediumtext, lt longtext, bi binary(4), vb varbinary(20), tb tinyblob, bl blob,
    lb longblob, da date, t0 time, t3 time(3), t6 time(6), dt datetime, dt3 datetime(3), dt6 datetime(6),
    ts timestamp null, ts3 timestamp(3) null, ts6 timestamp(6) null, ye year, en enum('sad', 'ok', 'hä ppy'),
    se set('a', 'b', 'c d'), js json, uu uuid, po point,
    dn date not null default '2000-01-01', dtn datetime not null default '2000-01-01'
) default charset utf8mb4;
-- nothing; the upper ends; the lower ends and what is empty; ordinary values; what only a lax mode takes
insert into all_types (id) values (1);
insert into all_types values (
    2, 127, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 4294967295, 9223372036854775807,
    18446744073709551615, 9999999999.99, 99999, 9999999999999999999999999999.9999999999,
    99999999999999999999999999999999999.999999999999999999999999999999, 9999999.999, 3.402823e38, 9999.999,
    1.7976931348623157e308, true, b'1', b'11111111',
    b'1111111111111111111111111111111111111111111111111111111111111111', '🙂🙂🙂🙂🙂', 'ÿÿÿÿÿ', 'é ü', 'ÿ', 'tail ', 'tab\t"q"\\',
    'line1\nline2', repeat('long ', 5000), x'ffffffff', x'00ff', x'', repeat(x'00ff', 2000), x'de', '9999-12-31',
    '838:59:59', '838:59:59.999', '838:59:59.999999', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999',
    '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.999', '2038-01-19 03:14:07.999999',
    2155, 'hä ppy', 'a,b,c d', '{"a": [1, null, 1e400], "ü": "é"}', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    point(1e300, -1e-300), '9999-12-31', '9999-12-31 23:59:59'
);
insert into all_types values (
    3, -128, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, 0, -9223372036854775808, 0, -9999999999.99, -99999,
    -0.0000000001, -0.000000000000000000000000000001, 0, -3.402823e38, -9999.999, -1.7976931348623157e308, false, b'0',
    b'00000000', b'0', '', '', '', '', '', '', '', '', x'', x'', x'', x'', x'', '1000-01-01', '-838:59:59',
    '-838:59:59.999', '-838:59:59.999999', '1000-01-01 00:00:00', '1000-01-01 00:00:00', '1000-01-01 00:00:00',
    '1970-01-01 00:00:01', '1970-01-01 00:00:01', '1970-01-01 00:00:01', 1901, 'sad', '', 'null',
    '00000000-0000-0000-0000-000000000000', point(0, 0), '1000-01-01', '1000-01-01 00:00:00'
);
insert into all_types values (
    4, 2, 1, 128, 1, 32768, 1, 8388608, 1, 2147483648, 42, 1, 9223372036854775808, 1234.50, 7, 1234567890.0123456789,
    1.5, 1.125, 1.1, 1.1, 0.1, null, null, b'101', b'1000000000000000000000000000000000000000000000000000000000000001',
    'ab', 'ab', 'Ab ', ' lead', 'null', '中文', '{"no": json', 'x', x'01', x'0100', x'0100', x'00', x'61', '2024-02-29', '00:00:00',
    '-00:00:00.001', '00:00:00.000001', '2024-02-29 12:34:56', '2024-02-29 12:34:56.7', '2024-02-29 12:34:56.789010',
    '2024-02-29 12:34:56', '2024-02-29 12:34:56.700', '2024-02-29 12:34:56.789010', 2024, 'ok', 'c d',
    '"s"', '6F5A1A0E-2B2F-4BD5-8B1A-0123456789AB', point(1.5, -2), '1582-10-15', '1582-10-15 00:00:00'
);
set sql_mode = '';
insert into all_types (id, da, dt, dt6, ye, en) values (
    5, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', 1970, 'not one'
);
insert into all_types (id, da, dt, dt6, ts, ye, en, dn, dtn) values (
    6, '0001-01-01', '0001-01-01 00:00:00', '0099-12-31 23:59:59.999999', '1970-01-01 00:00:01', 1999, 'ok', '0999-12-31', '0001-01-01'
);
