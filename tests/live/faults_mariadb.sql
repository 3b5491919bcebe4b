-- One row for each planted fault: all rows are alike.
use inv;
set time_zone = '+00:00';
create table typed (
    id int primary key, t1 tinyint(1), ti tinyint, tu tinyint unsigned, si smallint, su smallint unsigned,
    mi mediumint, mu mediumint unsigned, i4 int, iu int unsigned, iz int(10) unsigned zerofill, i8 bigint,
    bu bigint unsigned, de decimal(12,2), d0 decimal(5,0), d38 decimal(38,10), d65 decimal(65,30),
    du decimal(10,3) unsigned, b1 bit(1), b8 bit(8), b64 bit(64), ch char(5), vc varchar(20),
    vl varchar(20) character set latin1, tt tinytext, tx text, mt mediumtext, lt longtext, em varchar(20),
    nu varchar(20), bi binary(4), vb varbinary(20), tb tinyblob, bl blob, lb longblob, da date, t0 time, t3 time(3),
    t6 time(6), dt datetime, dt3 datetime(3), dt6 datetime(6), ts timestamp null, ts3 timestamp(3) null,
    ts6 timestamp(6) null, ye year, en enum('sad', 'ok'), js json, uu uuid
) default charset utf8mb4;
insert into typed select seq, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 9007199254740993, 18446744073709551614, 1234.50, 99999,
    0.0000000001, 0.000000000000000000000000000001, 12.125, b'1', b'10101010', b'101', 'ab', 'Ab', 'é ', 'Tail ',
    'tail ', 'null', 'a\nb', '', null, x'00ff00ff', x'00ff', x'00', x'00ff', x'ff', '2024-02-29', '12:34:56',
    '12:34:56.789', '12:34:56.789012', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012',
    '2024-02-29 23:30:00', '2024-02-29 23:30:00.789', '2024-02-29 23:30:00.789012', 2024, 'ok', '{"a": 1}',
    '6f5a1a0e-2b2f-4bd5-8b1a-0123456789ab' from seq_1_to_60;
