create table public.baskets (
    id uuid primary key, customer int not null, opened timestamptz not null default now(), notes jsonb
);
create table public.items (
    basket uuid, line int2, sku text not null, amount numeric(10,3), tags text[],
    primary key (basket, line)
);
insert into public.baskets values
    ('00000000-0000-0000-0000-000000000001', 1, '2024-03-01 12:00:00+01', '{"gift": true}'),
    ('00000000-0000-0000-0000-000000000002', 2, '2024-03-02 08:30:00+00', null);
insert into public.items values
    ('00000000-0000-0000-0000-000000000001', 1, 'tea', 0.250, array['green', 'loose']),
    ('00000000-0000-0000-0000-000000000001', 2, 'cup', 1, null),
    ('00000000-0000-0000-0000-000000000002', 1, 'tea', 1.000, array[]::text[]);
