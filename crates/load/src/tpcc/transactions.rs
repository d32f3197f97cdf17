//! The five transactions, statement by statement (clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4, 2.8.2).
//!
//! Money is changed relatively (`c_balance = c_balance - ?`), so no isolation level can lose an update; rows
//! that are read to be written are read `FOR UPDATE`.

use super::generate::last_name;
use super::input::{NewOrder, Payment, Who};
use super::schema::DISTRICTS;
use super::statements::*;
use crate::engine::Ending;
use crate::session::Session;
use crate::wire::{Value, WireError, write_decimal};
use std::io::Write as _;

use Value::{Int, Text};

/// Longest `c_data`.
const C_DATA: usize = 500;

fn text(bytes: &[u8]) -> Result<&str, WireError> {
    std::str::from_utf8(bytes).map_err(|_| WireError::Unexpected("a string is not UTF-8"))
}

/// A customer orders 5 to 15 items.
pub async fn new_order<S: Session>(s: &mut S, input: &NewOrder) -> Result<Ending, WireError> {
    let (w, d, c) = (Int(input.warehouse), Int(input.district), Int(input.customer));
    s.execute(BEGIN, &[]).await?;
    s.execute(NEW_ORDER_CUSTOMER, &[w, d, c]).await?.row()?;
    let order = s.execute(NEW_ORDER_DISTRICT, &[w, d]).await?.single_int()?;
    s.execute(NEW_ORDER_NEXT, &[w, d]).await?;
    let (count, local) = (input.count as i64, i64::from(input.all_local()));
    s.execute(INSERT_ORDER, &[Int(order), d, w, c, Int(count), Int(local)]).await?;
    s.execute(INSERT_NEW_ORDER, &[Int(order), d, w]).await?;
    let mut amounts = [0i64; 15];
    let mut infos = [[0u8; 24]; 15];
    let mut info_lengths = [0usize; 15];
    for (n, line) in input.lines().iter().enumerate() {
        let item = [Int(line.item)];
        let Some(mut row) = s.execute(ITEM, &item).await?.rows().next() else {
            s.execute(ROLLBACK, &[]).await?;
            return if input.rollback {
                Ok(Ending::RolledBack)
            } else {
                Err(WireError::Unexpected("an item is missing"))
            };
        };
        amounts[n] = row.decimal(2)? * line.quantity;
        let reply = s.execute(stock(input.district), &[Int(line.supply), Int(line.item)]).await?;
        let mut row = reply.row()?;
        let quantity = row.int()?;
        row.bytes()?;
        let info = row.bytes()?;
        info_lengths[n] = info.len().min(24);
        infos[n][..info_lengths[n]].copy_from_slice(&info[..info_lengths[n]]);
        // Clause 2.4.2.2: at least 10 must be left, else 91 come in.
        let left = quantity - line.quantity;
        let left = if left >= 10 { left } else { left + 91 };
        let remote = i64::from(line.supply != input.warehouse);
        s.execute(
            UPDATE_STOCK,
            &[Int(left), Int(line.quantity), Int(remote), Int(line.supply), Int(line.item)],
        )
        .await?;
    }
    let mut values = [Value::Null; 15 * 9];
    for (n, line) in input.lines().iter().enumerate() {
        values[9 * n..9 * n + 9].copy_from_slice(&[
            Int(order),
            d,
            w,
            Int(n as i64 + 1),
            Int(line.item),
            Int(line.supply),
            Int(line.quantity),
            Value::cents(amounts[n]),
            Text(text(&infos[n][..info_lengths[n]])?),
        ]);
    }
    s.execute(insert_lines(input.count), &values[..9 * input.count]).await?;
    s.execute(COMMIT, &[]).await?;
    Ok(Ending::Committed)
}

/// The customer's number; by name it is the one in the middle, rounded up (clause 2.5.2.2).
async fn customer<S: Session>(s: &mut S, w: i64, d: i64, who: Who) -> Result<i64, WireError> {
    let number = match who {
        Who::Id(id) => return Ok(id),
        Who::Name(number) => number,
    };
    let mut name = Vec::with_capacity(16);
    last_name(number, &mut name);
    let reply = s.execute(CUSTOMERS_BY_NAME, &[Int(w), Int(d), Text(text(&name)?)]).await?;
    let found = reply.rows().count();
    let mut row = reply
        .rows()
        .nth(middle(found))
        .ok_or(WireError::Unexpected("no customer has this last name; is the data set complete?"))?;
    row.int()
}

/// Index of the customer at position ceil(n / 2), counted from 1.
fn middle(n: usize) -> usize {
    n.div_ceil(2).saturating_sub(1)
}

/// A customer pays.
pub async fn payment<S: Session>(s: &mut S, input: &Payment) -> Result<Ending, WireError> {
    let (w, d, amount) = (Int(input.warehouse), Int(input.district), Value::cents(input.cents));
    s.execute(BEGIN, &[]).await?;
    s.execute(PAY_WAREHOUSE, &[amount, w]).await?;
    // h_data: both names with four blanks between them.
    let mut h_data = Vec::with_capacity(24);
    h_data.extend_from_slice(s.execute(PAY_WAREHOUSE_ADDRESS, &[w]).await?.row()?.bytes()?);
    h_data.extend_from_slice(b"    ");
    s.execute(PAY_DISTRICT, &[amount, w, d]).await?;
    h_data.extend_from_slice(s.execute(PAY_DISTRICT_ADDRESS, &[w, d]).await?.row()?.bytes()?);
    let (cw, cd) = (Int(input.customer_warehouse), Int(input.customer_district));
    let id = customer(s, input.customer_warehouse, input.customer_district, input.who).await?;
    let c = Int(id);
    let bad_credit = s.execute(PAY_CUSTOMER, &[cw, cd, c]).await?.row()?.bytes()? == b"BC";
    if bad_credit {
        let mut data = Vec::with_capacity(C_DATA + 64);
        // Writing to memory cannot fail.
        let _ = write!(
            data,
            "{id} {} {} {} {} ",
            input.customer_district, input.customer_warehouse, input.district, input.warehouse
        );
        write_decimal(input.cents, 2, &mut data);
        data.push(b' ');
        data.extend_from_slice(s.execute(CUSTOMER_DATA, &[cw, cd, c]).await?.row()?.bytes()?);
        data.truncate(C_DATA);
        s.execute(PAY_BALANCE_DATA, &[amount, amount, Text(text(&data)?), cw, cd, c]).await?;
    } else {
        s.execute(PAY_BALANCE, &[amount, amount, cw, cd, c]).await?;
    }
    s.execute(INSERT_HISTORY, &[c, cd, cw, d, w, amount, Text(text(&h_data)?)]).await?;
    s.execute(COMMIT, &[]).await?;
    Ok(Ending::Committed)
}

/// A customer asks for its last order.
pub async fn order_status<S: Session>(s: &mut S, w: i64, d: i64, who: Who) -> Result<Ending, WireError> {
    s.execute(BEGIN, &[]).await?;
    let id = customer(s, w, d, who).await?;
    s.execute(STATUS_CUSTOMER, &[Int(w), Int(d), Int(id)]).await?.row()?;
    let order = s.execute(STATUS_ORDER, &[Int(w), Int(d), Int(id)]).await?.single_int()?;
    s.execute(STATUS_LINES, &[Int(w), Int(d), Int(order)]).await?.row()?;
    s.execute(COMMIT, &[]).await?;
    Ok(Ending::Committed)
}

/// The oldest new order of each of the ten districts is delivered. Returns the districts that had none.
pub async fn delivery<S: Session>(s: &mut S, warehouse: i64, carrier: i64) -> Result<u32, WireError> {
    let w = Int(warehouse);
    let mut skipped = 0;
    s.execute(BEGIN, &[]).await?;
    for district in 1..=DISTRICTS {
        let d = Int(district);
        let Some(mut row) = s.execute(OLDEST_NEW_ORDER, &[w, d]).await?.rows().next() else {
            skipped += 1;
            continue;
        };
        let o = Int(row.int()?);
        if s.execute(DELETE_NEW_ORDER, &[w, d, o]).await?.affected != 1 {
            return Err(WireError::Unexpected("a locked new order could not be deleted"));
        }
        let c = Int(s.execute(ORDER_CUSTOMER, &[w, d, o]).await?.single_int()?);
        s.execute(DELIVER_ORDER, &[Int(carrier), w, d, o]).await?;
        s.execute(DELIVER_LINES, &[w, d, o]).await?;
        let amount = Value::cents(s.execute(ORDER_AMOUNT, &[w, d, o]).await?.row()?.decimal(2)?);
        s.execute(DELIVER_CUSTOMER, &[amount, w, d, c]).await?;
    }
    s.execute(COMMIT, &[]).await?;
    Ok(skipped)
}

/// How many items of the district's last 20 orders are below the threshold.
pub async fn stock_level<S: Session>(s: &mut S, w: i64, d: i64, threshold: i64) -> Result<Ending, WireError> {
    s.execute(BEGIN, &[]).await?;
    let next = s.execute(STOCK_NEXT_ORDER, &[Int(w), Int(d)]).await?.single_int()?;
    s.execute(STOCK_LEVEL, &[Int(w), Int(d), Int(next), Int(next - 20), Int(w), Int(threshold)])
        .await?
        .row()?;
    s.execute(COMMIT, &[]).await?;
    Ok(Ending::Committed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_customer_is_rounded_up() {
        // Positions from 1: 1, 1, 2, 2, 3.
        assert_eq!([1, 2, 3, 4, 5].map(|n| middle(n) + 1), [1, 1, 2, 2, 3]);
    }
}
