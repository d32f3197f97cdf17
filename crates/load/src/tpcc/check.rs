//! The consistency conditions (clause 3.3.2), on all warehouses.

use super::prepare::{DATABASE, find};
use super::schema::Layout;
use crate::loading::{LoadError, open_database};
use serde::Serialize;
use server::ConnectOptions;

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// Its number in clause 3.3.2.
    pub id: u8,
    /// Whether it holds.
    pub ok: bool,
    /// What it says.
    pub text: &'static str,
    /// Warehouses, districts, orders or customers that break it.
    pub violations: u64,
}

/// Checks conditions 1 to 10 and 12 in one snapshot; 11 too if the data set is `fresh` from the load.
pub fn check(connect: &ConnectOptions, fresh: bool) -> Result<Vec<Condition>, LoadError> {
    let layout = find(connect)?.map_or(Layout::Standard, |(set, _)| set.layout);
    let (_, mut admin) = open_database(connect, DATABASE)?;
    let failed = |what: &'static str| LoadError::server(format!("check that {what}"));
    for sql in [
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    ] {
        admin.query_blocking(sql).map_err(failed("the data can be read"))?;
    }
    let mut conditions = Vec::new();
    for (id, text, sql) in queries(layout) {
        if id == 11 && !fresh {
            continue;
        }
        let violations =
            admin.query_blocking(&sql).and_then(|r| r.single_int()).map_err(failed(text))? as u64;
        conditions.push(Condition { id, ok: violations == 0, text, violations });
    }
    admin.query_blocking("COMMIT").map_err(failed("the data can be read"))?;
    Ok(conditions)
}

/// Each query counts violations.
fn queries(layout: Layout) -> Vec<(u8, &'static str, String)> {
    let (orders, new_orders) = (layout.orders(), layout.new_orders());
    // BenchBase keeps c_ytd_payment as a float: seven digits.
    let balance_differs = match layout {
        Layout::Standard => "b <> COALESCE(s, 0)",
        Layout::BenchBase => "ABS(b - COALESCE(s, 0)) > 1 + ABS(b) * 0.000001",
    };
    let delivered = format!(
        "(SELECT o_w_id w, o_d_id d, o_c_id c, SUM(ol_amount) a FROM {orders} JOIN order_line ON ol_w_id = o_w_id \
         AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) ol"
    );
    vec![
        (
            1,
            "w_ytd is the sum of its districts' d_ytd",
            "SELECT COUNT(*) FROM warehouse LEFT JOIN (SELECT d_w_id w, SUM(d_ytd) s FROM district GROUP BY d_w_id) d \
             ON w = w_id WHERE s IS NULL OR w_ytd <> s"
                .into(),
        ),
        (
            2,
            "d_next_o_id - 1 is the largest o_id and the largest no_o_id",
            format!(
                "SELECT COUNT(*) FROM district LEFT JOIN (SELECT o_w_id w, o_d_id d, MAX(o_id) m FROM {orders} \
                 GROUP BY o_w_id, o_d_id) o ON o.w = d_w_id AND o.d = d_id LEFT JOIN (SELECT no_w_id w, no_d_id d, \
                 MAX(no_o_id) m FROM {new_orders} GROUP BY no_w_id, no_d_id) n ON n.w = d_w_id AND n.d = d_id \
                 WHERE o.m IS NULL OR d_next_o_id - 1 <> o.m OR (n.m IS NOT NULL AND d_next_o_id - 1 <> n.m)"
            ),
        ),
        (
            3,
            "no_o_id has no gaps within a district",
            format!(
                "SELECT COUNT(*) FROM (SELECT MAX(no_o_id) - MIN(no_o_id) + 1 span, COUNT(*) n FROM {new_orders} \
                 GROUP BY no_w_id, no_d_id) x WHERE span <> n"
            ),
        ),
        (
            4,
            "the sum of o_ol_cnt is the number of order lines in each district",
            format!(
                "SELECT COUNT(*) FROM district LEFT JOIN (SELECT o_w_id w, o_d_id d, SUM(o_ol_cnt) s FROM {orders} \
                 GROUP BY o_w_id, o_d_id) o ON o.w = d_w_id AND o.d = d_id LEFT JOIN (SELECT ol_w_id w, ol_d_id d, \
                 COUNT(*) n FROM order_line GROUP BY ol_w_id, ol_d_id) l ON l.w = d_w_id AND l.d = d_id \
                 WHERE COALESCE(s, 0) <> COALESCE(n, 0)"
            ),
        ),
        (
            5,
            "an order has no carrier exactly while it is a new order",
            format!(
                "SELECT (SELECT COUNT(*) FROM {orders} LEFT JOIN {new_orders} ON no_w_id = o_w_id AND no_d_id = o_d_id \
                 AND no_o_id = o_id WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)) + (SELECT COUNT(*) FROM \
                 {new_orders} LEFT JOIN {orders} ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
                 WHERE o_id IS NULL)"
            ),
        ),
        (
            6,
            "o_ol_cnt is the number of the order's lines",
            format!(
                "SELECT COUNT(*) FROM {orders} LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) n FROM order_line \
                 GROUP BY ol_w_id, ol_d_id, ol_o_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
                 WHERE o_ol_cnt <> COALESCE(n, 0)"
            ),
        ),
        (
            7,
            "a line has no delivery date exactly while its order has no carrier",
            format!(
                "SELECT COUNT(*) FROM order_line LEFT JOIN {orders} ON ol_w_id = o_w_id AND ol_d_id = o_d_id \
                 AND ol_o_id = o_id WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)"
            ),
        ),
        (
            8,
            "w_ytd is the sum of the warehouse's h_amount",
            "SELECT COUNT(*) FROM warehouse LEFT JOIN (SELECT h_w_id w, SUM(h_amount) s FROM history GROUP BY h_w_id) h \
             ON w = w_id WHERE s IS NULL OR w_ytd <> s"
                .into(),
        ),
        (
            9,
            "d_ytd is the sum of the district's h_amount",
            "SELECT COUNT(*) FROM district LEFT JOIN (SELECT h_w_id w, h_d_id d, SUM(h_amount) s FROM history \
             GROUP BY h_w_id, h_d_id) h ON h.w = d_w_id AND h.d = d_id WHERE s IS NULL OR d_ytd <> s"
                .into(),
        ),
        (
            10,
            "c_balance is the customer's delivered ol_amount less its h_amount",
            format!(
                "SELECT COUNT(*) FROM customer LEFT JOIN {delivered} ON ol.w = c_w_id AND ol.d = c_d_id AND ol.c = c_id \
                 LEFT JOIN (SELECT h_c_w_id w, h_c_d_id d, h_c_id c, SUM(h_amount) s FROM history GROUP BY h_c_w_id, \
                 h_c_d_id, h_c_id) h ON h.w = c_w_id AND h.d = c_d_id AND h.c = c_id \
                 WHERE c_balance <> COALESCE(a, 0) - COALESCE(s, 0)"
            ),
        ),
        (
            11,
            "each district has 2,100 more orders than new orders",
            format!(
                "SELECT COUNT(*) FROM district LEFT JOIN (SELECT o_w_id w, o_d_id d, COUNT(*) n FROM {orders} \
                 GROUP BY o_w_id, o_d_id) o ON o.w = d_w_id AND o.d = d_id LEFT JOIN (SELECT no_w_id w, no_d_id d, \
                 COUNT(*) n FROM {new_orders} GROUP BY no_w_id, no_d_id) n ON n.w = d_w_id AND n.d = d_id \
                 WHERE COALESCE(o.n, 0) - COALESCE(n.n, 0) <> 2100"
            ),
        ),
        (
            12,
            "c_balance + c_ytd_payment is the customer's delivered ol_amount",
            format!(
                "SELECT COUNT(*) FROM (SELECT c_balance + c_ytd_payment b, a s FROM customer LEFT JOIN {delivered} \
                 ON ol.w = c_w_id AND ol.d = c_d_id AND ol.c = c_id) x WHERE {balance_differs}"
            ),
        ),
    ]
}
