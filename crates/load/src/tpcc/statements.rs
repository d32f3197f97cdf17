//! All statements, each with a fixed place in the list.

use super::schema::{DISTRICTS, Layout};
use crate::session::{Statement, StatementId};
use std::sync::Arc;

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident = $place:expr;)*) => {
        $(pub(super) const $name: StatementId = StatementId($place);)*
    };
}

places! {
    BEGIN = 0;
    COMMIT = 1;
    ROLLBACK = 2;
    NEW_ORDER_CUSTOMER = 3;
    NEW_ORDER_DISTRICT = 4;
    NEW_ORDER_NEXT = 5;
    INSERT_ORDER = 6;
    INSERT_NEW_ORDER = 7;
    ITEM = 8;
    UPDATE_STOCK = 9;
    PAY_WAREHOUSE = 10;
    PAY_WAREHOUSE_ADDRESS = 11;
    PAY_DISTRICT = 12;
    PAY_DISTRICT_ADDRESS = 13;
    CUSTOMERS_BY_NAME = 14;
    PAY_CUSTOMER = 15;
    PAY_BALANCE = 16;
    PAY_BALANCE_DATA = 17;
    CUSTOMER_DATA = 18;
    INSERT_HISTORY = 19;
    STATUS_CUSTOMER = 20;
    STATUS_ORDER = 21;
    STATUS_LINES = 22;
    OLDEST_NEW_ORDER = 23;
    DELETE_NEW_ORDER = 24;
    ORDER_CUSTOMER = 25;
    DELIVER_ORDER = 26;
    DELIVER_LINES = 27;
    ORDER_AMOUNT = 28;
    DELIVER_CUSTOMER = 29;
    STOCK_NEXT_ORDER = 30;
    STOCK_LEVEL = 31;
}

/// First of ten: stock with the text of district 1..=10.
const STOCK: usize = 32;
/// First of eleven: 5..=15 order lines.
const LINES: usize = STOCK + DISTRICTS as usize;

/// Reads a stock row with the district's text.
pub(super) fn stock(district: i64) -> StatementId {
    StatementId(STOCK + district as usize - 1)
}

/// Inserts `count` order lines.
pub(super) fn insert_lines(count: usize) -> StatementId {
    StatementId(LINES + count - 5)
}

/// The list.
pub(super) fn statements(layout: Layout) -> Arc<[Statement]> {
    let (o, no) = (layout.orders(), layout.new_orders());
    let address = |p: &str| format!("{p}_name, {p}_street_1, {p}_street_2, {p}_city, {p}_state, {p}_zip");
    let of_customer = "c_w_id = ? AND c_d_id = ? AND c_id = ?";
    let of_order = "ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    let mut list = vec![
        Statement::control("BEGIN"),
        Statement::control("COMMIT"),
        Statement::control("ROLLBACK"),
        Statement::read(
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
             WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
        ),
        Statement::read("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE"),
        Statement::write("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?"),
        Statement::write(format!(
            "INSERT INTO {o} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), ?, ?)"
        )),
        Statement::write(format!("INSERT INTO {no} (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)")),
        Statement::read("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?"),
        Statement::write(
            "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
        ),
        Statement::write("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?"),
        Statement::read(format!("SELECT {} FROM warehouse WHERE w_id = ?", address("w"))),
        Statement::write("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?"),
        Statement::read(format!("SELECT {} FROM district WHERE d_w_id = ? AND d_id = ?", address("d"))),
        Statement::read(
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
        ),
        Statement::read(format!(
            "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
             c_credit_lim, c_discount, c_balance FROM customer WHERE {of_customer} FOR UPDATE"
        )),
        Statement::write(format!(
            "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
             c_payment_cnt = c_payment_cnt + 1 WHERE {of_customer}"
        )),
        Statement::write(format!(
            "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
             c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE {of_customer}"
        )),
        Statement::read(format!("SELECT c_data FROM customer WHERE {of_customer}")),
        Statement::write(
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
        ),
        Statement::read(format!(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE {of_customer}"
        )),
        Statement::read(format!(
            "SELECT o_id, o_entry_d, o_carrier_id FROM {o} WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
             ORDER BY o_id DESC LIMIT 1"
        )),
        Statement::read(format!(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE {of_order}"
        )),
        Statement::read(format!(
            "SELECT no_o_id FROM {no} WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE"
        )),
        Statement::write(format!("DELETE FROM {no} WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?")),
        Statement::read(format!("SELECT o_c_id FROM {o} WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?")),
        Statement::write(format!(
            "UPDATE {o} SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?"
        )),
        Statement::write(format!("UPDATE order_line SET ol_delivery_d = NOW() WHERE {of_order}")),
        Statement::read(format!("SELECT SUM(ol_amount) FROM order_line WHERE {of_order}")),
        Statement::write(format!(
            "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 WHERE {of_customer}"
        )),
        Statement::read("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?"),
        Statement::read(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? \
             AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
        ),
    ];
    list.extend((1..=DISTRICTS).map(|d| {
        Statement::read(format!(
            "SELECT s_quantity, s_data, s_dist_{d:02} FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE"
        ))
    }));
    list.extend((5..=15).map(|n| {
        let row = "(?, ?, ?, ?, ?, ?, ?, ?, ?)";
        Statement::write(format!(
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, \
             ol_dist_info) VALUES {}",
            vec![row; n].join(", ")
        ))
    }));
    list.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_texts_agree() {
        let list = statements(Layout::BenchBase);
        assert_eq!(list.len(), LINES + 11);
        for (place, text) in [
            (STOCK_LEVEL, "COUNT(DISTINCT"),
            (DELIVER_CUSTOMER, "c_delivery_cnt + 1"),
            (INSERT_HISTORY, "INSERT INTO history"),
            (PAY_BALANCE_DATA, "c_data = ?"),
            (OLDEST_NEW_ORDER, "FROM new_order WHERE"),
            (stock(10), "s_dist_10"),
        ] {
            assert!(list[place.0].sql.contains(text), "{}", list[place.0].sql);
        }
        for n in [5, 15] {
            assert_eq!(list[insert_lines(n).0].sql.matches('?').count(), 9 * n);
        }
    }
}
