//! The initial population (clause 4.3.3.1), row by row.

use super::schema::{CUSTOMERS, DISTRICTS, DataSet, FIRST_NEW_ORDER, ITEMS};
use crate::random::Random;
use crate::rows::{LoadMethod, RowWriter};

/// Syllables of the customers' last names (clause 4.3.2.3).
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The time of all rows of the load.
const LOADED_AT: &str = "2026-01-01 00:00:00";

/// Appends the last name of number `n` in 0..=999.
pub fn last_name(n: i64, out: &mut Vec<u8>) {
    for digit in [n / 100, n / 10 % 10, n % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize % 10].as_bytes());
    }
}

/// A piece of the load that is one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All items.
    Items,
    /// Stock of a warehouse.
    Stock(u32),
    /// Customers of a warehouse and their history.
    Customers(u32),
    /// Orders of a warehouse with their lines and new orders.
    Orders(u32),
    /// The warehouse and its districts.
    Warehouse(u32),
}

impl Part {
    /// All parts of a data set, largest first within a warehouse; parts of one table lie apart, so that workers
    /// rarely meet on a table.
    pub fn all(set: &DataSet) -> Vec<Self> {
        let mut parts = vec![Self::Items];
        for w in 1..=set.warehouses {
            parts.extend([Self::Stock(w), Self::Orders(w), Self::Customers(w), Self::Warehouse(w)]);
        }
        parts
    }

    /// The name under which it is remembered as done.
    pub fn name(self) -> String {
        match self {
            Self::Items => "items".into(),
            Self::Stock(w) => format!("stock {w}"),
            Self::Customers(w) => format!("customers {w}"),
            Self::Orders(w) => format!("orders {w}"),
            Self::Warehouse(w) => format!("warehouse {w}"),
        }
    }

    /// The tables it fills, each with its rows.
    pub fn tables(self, set: &DataSet) -> Vec<TableRows> {
        let rows = |name, columns: &str, kind: Kind| TableRows::new(name, columns, self, kind, set);
        match self {
            Self::Items => vec![rows("item", "i_id,i_name,i_price,i_data,i_im_id", Kind::Item)],
            Self::Stock(_) => {
                let dists: Vec<String> = (1..=10).map(|d| format!("s_dist_{d:02}")).collect();
                let columns = format!(
                    "s_w_id,s_i_id,s_quantity,s_ytd,s_order_cnt,s_remote_cnt,s_data,{}",
                    dists.join(",")
                );
                vec![rows("stock", &columns, Kind::Stock)]
            }
            Self::Customers(_) => vec![
                rows(
                    "customer",
                    "c_w_id,c_d_id,c_id,c_first,c_middle,c_last,c_street_1,c_street_2,c_city,c_state,c_zip,c_phone,\
                     c_since,c_credit,c_credit_lim,c_discount,c_balance,c_ytd_payment,c_payment_cnt,c_delivery_cnt,c_data",
                    Kind::Customer,
                ),
                rows(
                    "history",
                    "h_c_id,h_c_d_id,h_c_w_id,h_d_id,h_w_id,h_date,h_amount,h_data",
                    Kind::History,
                ),
            ],
            Self::Orders(_) => vec![
                rows(
                    set.layout.orders(),
                    "o_w_id,o_d_id,o_id,o_c_id,o_carrier_id,o_ol_cnt,o_all_local,o_entry_d",
                    Kind::Order,
                ),
                rows(
                    "order_line",
                    "ol_w_id,ol_d_id,ol_o_id,ol_number,ol_i_id,ol_delivery_d,ol_amount,ol_supply_w_id,ol_quantity,ol_dist_info",
                    Kind::OrderLine,
                ),
                rows(set.layout.new_orders(), "no_w_id,no_d_id,no_o_id", Kind::NewOrder),
            ],
            Self::Warehouse(_) => vec![
                rows(
                    "warehouse",
                    "w_id,w_name,w_street_1,w_street_2,w_city,w_state,w_zip,w_tax,w_ytd",
                    Kind::Warehouse,
                ),
                rows(
                    "district",
                    "d_w_id,d_id,d_name,d_street_1,d_street_2,d_city,d_state,d_zip,d_tax,d_ytd,d_next_o_id",
                    Kind::District,
                ),
            ],
        }
    }

    fn warehouse(self) -> i64 {
        match self {
            Self::Items => 0,
            Self::Stock(w) | Self::Customers(w) | Self::Orders(w) | Self::Warehouse(w) => i64::from(w),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Item,
    Stock,
    Customer,
    History,
    Order,
    OrderLine,
    NewOrder,
    Warehouse,
    District,
}

/// The rows of one table in one part, in primary-key order.
pub struct TableRows {
    /// Table.
    pub table: &'static str,
    /// Its columns in the order of the values.
    pub columns: String,
    kind: Kind,
    warehouse: i64,
    c_load: i64,
    random: Random,
    /// Orders and their lines come from equal streams, so that the counts agree.
    shape: Random,
    next: i64,
    end: i64,
    line: i64,
    lines: i64,
    customers: Vec<i64>,
}

impl TableRows {
    fn new(table: &'static str, columns: &str, part: Part, kind: Kind, set: &DataSet) -> Self {
        let warehouse = part.warehouse();
        let end = match kind {
            Kind::Item | Kind::Stock => ITEMS,
            Kind::Customer | Kind::History | Kind::Order | Kind::OrderLine => DISTRICTS * CUSTOMERS,
            Kind::NewOrder => DISTRICTS * (CUSTOMERS - FIRST_NEW_ORDER + 1),
            Kind::Warehouse => 1,
            Kind::District => DISTRICTS,
        };
        let stream = (warehouse as u64) << 8;
        Self {
            table,
            columns: columns.to_owned(),
            kind,
            warehouse,
            c_load: set.c_load(),
            random: Random::stream(set.seed, stream + kind as u64 + 1),
            shape: Random::stream(set.seed, stream),
            next: 0,
            end,
            line: 0,
            lines: 0,
            customers: Vec::new(),
        }
    }

    /// Appends the next row; false when there are no more.
    pub fn write_next(&mut self, method: LoadMethod, out: &mut Vec<u8>) -> bool {
        if self.next >= self.end {
            return false;
        }
        let n = self.next;
        let (district, in_district) = (n / CUSTOMERS + 1, n % CUSTOMERS + 1);
        let mut row = RowWriter::row(method, out);
        match self.kind {
            Kind::Item => self.item(n + 1, &mut row),
            Kind::Stock => self.stock(n + 1, &mut row),
            Kind::Customer => self.customer(district, in_district, &mut row),
            Kind::History => self.history(district, in_district, &mut row),
            Kind::Order => self.order(district, in_district, &mut row),
            Kind::OrderLine => {
                let more = self.order_line(district, in_district, &mut row);
                row.end();
                self.next += i64::from(!more);
                return true;
            }
            Kind::NewOrder => {
                let orders = CUSTOMERS - FIRST_NEW_ORDER + 1;
                row.int(self.warehouse).int(n / orders + 1).int(FIRST_NEW_ORDER + n % orders);
            }
            Kind::Warehouse => {
                row.int(self.warehouse);
                self.place(&mut row);
                row.decimal(30_000_000, 2);
            }
            Kind::District => {
                row.int(self.warehouse).int(n + 1);
                self.place(&mut row);
                row.decimal(3_000_000, 2).int(CUSTOMERS + 1);
            }
        }
        row.end();
        self.next += 1;
        true
    }

    fn string(&mut self, low: i64, high: i64, row: &mut RowWriter<'_>) {
        let n = self.random.range(low, high) as usize;
        row.text(|out| self.random.letters(n, out));
    }

    /// i_data and s_data: 10 % contain ORIGINAL somewhere.
    fn data(&mut self, row: &mut RowWriter<'_>) {
        let n = self.random.range(26, 50) as usize;
        let original = self.random.percent(10).then(|| self.random.below(n as u64 - 7) as usize);
        row.text(|out| {
            let from = out.len();
            self.random.letters(n, out);
            if let Some(at) = original {
                out[from + at..from + at + 8].copy_from_slice(b"ORIGINAL");
            }
        });
    }

    fn address(&mut self, row: &mut RowWriter<'_>) {
        self.string(10, 20, row);
        self.string(10, 20, row);
        self.string(10, 20, row);
        self.string(2, 2, row);
        row.text(|out| {
            self.random.digits(4, out);
            out.extend_from_slice(b"11111");
        });
    }

    /// Name, address and tax of a warehouse or district.
    fn place(&mut self, row: &mut RowWriter<'_>) {
        self.string(6, 10, row);
        self.address(row);
        row.decimal(self.random.range(0, 2000), 4);
    }

    fn item(&mut self, id: i64, row: &mut RowWriter<'_>) {
        row.int(id);
        self.string(14, 24, row);
        row.decimal(self.random.range(100, 10_000), 2);
        self.data(row);
        row.int(self.random.range(1, 10_000));
    }

    fn stock(&mut self, item: i64, row: &mut RowWriter<'_>) {
        row.int(self.warehouse).int(item).int(self.random.range(10, 100)).int(0).int(0).int(0);
        self.data(row);
        for _ in 0..10 {
            row.text(|out| self.random.letters(24, out));
        }
    }

    fn customer(&mut self, district: i64, id: i64, row: &mut RowWriter<'_>) {
        row.int(self.warehouse).int(district).int(id);
        self.string(8, 16, row);
        let name = if id <= 1000 { id - 1 } else { self.random.nurand(255, self.c_load, 0, 999) };
        row.str("OE").text(|out| last_name(name, out));
        self.address(row);
        row.text(|out| self.random.digits(16, out)).str(LOADED_AT);
        row.str(if self.random.percent(10) { "BC" } else { "GC" });
        row.decimal(5_000_000, 2)
            .decimal(self.random.range(0, 5000), 4)
            .decimal(-1000, 2)
            .decimal(1000, 2)
            .int(1)
            .int(0);
        self.string(300, 500, row);
    }

    fn history(&mut self, district: i64, customer: i64, row: &mut RowWriter<'_>) {
        row.int(customer).int(district).int(self.warehouse).int(district).int(self.warehouse);
        row.str(LOADED_AT).decimal(1000, 2);
        self.string(12, 24, row);
    }

    fn order(&mut self, district: i64, id: i64, row: &mut RowWriter<'_>) {
        if id == 1 {
            self.customers = self.random.permutation(CUSTOMERS as usize);
        }
        let customer = self.customers[id as usize - 1];
        row.int(self.warehouse).int(district).int(id).int(customer);
        if id < FIRST_NEW_ORDER {
            row.int(self.random.range(1, 10));
        } else {
            row.null();
        }
        row.int(self.shape.range(5, 15)).int(1).str(LOADED_AT);
    }

    /// One line; returns whether the order has more.
    fn order_line(&mut self, district: i64, order: i64, row: &mut RowWriter<'_>) -> bool {
        if self.line == 0 {
            self.lines = self.shape.range(5, 15);
        }
        self.line += 1;
        row.int(self.warehouse).int(district).int(order).int(self.line).int(self.random.range(1, ITEMS));
        if order < FIRST_NEW_ORDER {
            row.str(LOADED_AT).decimal(0, 2);
        } else {
            row.null().decimal(self.random.range(1, 999_999), 2);
        }
        row.int(self.warehouse).int(5).text(|out| self.random.letters(24, out));
        let more = self.line < self.lines;
        if !more {
            self.line = 0;
        }
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn lines(part: Part, table: usize) -> Vec<Vec<String>> {
        let mut rows = part.tables(&DataSet::new(2, 7)).swap_remove(table);
        let mut out = Vec::new();
        while rows.write_next(LoadMethod::LoadData, &mut out) {}
        let columns = rows.columns.split(',').count();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Vec<String>> =
            text.lines().map(|l| l.split('\t').map(str::to_owned).collect()).collect();
        assert!(lines.iter().all(|l| l.len() == columns), "every row has all {columns} columns");
        lines
    }

    #[test]
    fn cardinalities_are_the_clause_s() {
        assert_eq!(lines(Part::Items, 0).len(), 100_000);
        assert_eq!(lines(Part::Stock(1), 0).len(), 100_000);
        assert_eq!(lines(Part::Customers(2), 0).len(), 30_000);
        assert_eq!(lines(Part::Customers(2), 1).len(), 30_000);
        assert_eq!(lines(Part::Orders(1), 0).len(), 30_000);
        assert_eq!(lines(Part::Orders(1), 2).len(), 9_000);
        assert_eq!(lines(Part::Warehouse(1), 1).len(), 10);
    }

    #[test]
    fn orders_have_as_many_lines_as_they_say() {
        let mut count: BTreeMap<(String, String), usize> = BTreeMap::new();
        for line in lines(Part::Orders(1), 1) {
            *count.entry((line[1].clone(), line[2].clone())).or_default() += 1;
            let delivered = line[2].parse::<i64>().unwrap() < 2101;
            assert_eq!(line[5] == "\\N", !delivered);
            assert_eq!(line[6] == "0.00", delivered, "amounts of delivered orders are zero, others are not");
        }
        for order in lines(Part::Orders(1), 0) {
            assert_eq!(count[&(order[1].clone(), order[2].clone())].to_string(), order[5]);
            assert_eq!(order[4] == "\\N", order[2].parse::<i64>().unwrap() >= 2101);
        }
    }

    #[test]
    fn the_first_thousand_customers_have_all_names() {
        let customers = lines(Part::Customers(1), 0);
        let mut names: Vec<&str> = customers[..1000].iter().map(|c| c[5].as_str()).collect();
        assert_eq!(names[0], "BARBARBAR");
        assert_eq!(names[371], "PRICALLYOUGHT");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 1000);
        let bad = customers.iter().filter(|c| c[13] == "BC").count();
        // 10 % of 30,000: the standard deviation is 52.
        assert!((2790..=3210).contains(&bad), "{bad}");
    }

    #[test]
    fn strings_are_as_long_as_the_clause_says() {
        let stock = lines(Part::Stock(1), 0);
        assert!(stock.iter().all(|s| s[7..].iter().all(|d| d.len() == 24)));
        assert!(stock.iter().all(|s| (26..=50).contains(&s[6].len())));
        let original = stock.iter().filter(|s| s[6].contains("ORIGINAL")).count();
        // 10 % of 100,000: the standard deviation is 95.
        assert!((9600..=10_400).contains(&original), "{original}");
    }

    #[test]
    fn the_same_seed_makes_the_same_rows() {
        assert_eq!(lines(Part::Orders(2), 1), lines(Part::Orders(2), 1));
        assert_ne!(lines(Part::Orders(2), 1), lines(Part::Orders(1), 1));
    }
}
