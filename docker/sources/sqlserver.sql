-- Run again, it changes nothing: the one-shot service repeats it until the server and its agent are up.
if db_id('shop') is null create database shop;
go
use shop;
go
if not exists (select 1 from sys.databases where name = 'shop' and is_cdc_enabled = 1) exec sys.sp_cdc_enable_db;
go
if object_id('dbo.customers') is null
begin
  create table dbo.customers (
    id int primary key, name nvarchar(100) not null, credit decimal(12,2), created datetime2(3) not null
  );
  create table dbo.orders (
    region char(2), order_no bigint, customer int not null, price decimal(19,4), ordered date,
    primary key (region, order_no)
  );
  insert into dbo.customers values
    (1, N'Ada', 12.50, '2024-02-29T10:00:00.123'), (2, N'Bob', null, '2024-03-01T00:00:00'),
    (3, N'Cyd', 0.01, '2024-03-02T23:59:59.999');
  insert into dbo.orders values
    ('eu', 1, 1, 99.9500, '2024-03-01'), ('eu', 2, 2, 0.0001, '2024-03-02'), ('us', 1, 1, null, null);
end;
go
if not exists (select 1 from cdc.change_tables where source_object_id = object_id('dbo.customers'))
  exec sys.sp_cdc_enable_table @source_schema = 'dbo', @source_name = 'customers', @role_name = null;
if not exists (select 1 from cdc.change_tables where source_object_id = object_id('dbo.orders'))
  exec sys.sp_cdc_enable_table @source_schema = 'dbo', @source_name = 'orders', @role_name = null;
go
