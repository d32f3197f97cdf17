//! Formulas in parameter groups of Amazon RDS: `{DBInstanceClassMemory*3/4}`, `LEAST({DBInstanceVCPU/2},4)`.
//!
//! By the RDS user guide (`USER_ParamValuesRef`): whole numbers, `*` and `/` from left to right, division cuts off; `GREATEST`, `LEAST` and `SUM`
//! of several terms; `log` to the base 2. Braces and parentheses group.

use std::error::Error;
use std::fmt;

/// What the variables of a formula stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    /// `DBInstanceClassMemory`, bytes. The provider takes off what its own processes need, and does not say how much.
    pub memory: u64,
    /// `DBInstanceVCPU`.
    pub vcpu: u32,
    /// `AllocatedStorage`, bytes.
    pub storage: u64,
}

/// Nesting beyond this is no formula that anybody wrote.
const DEEPEST: u32 = 32;

/// Evaluates a formula, or a plain number.
///
/// # Errors
/// If it is no formula; says where and what was expected.
pub fn evaluate(formula: &str, instance: &Instance) -> Result<i128, FormulaError> {
    let mut parser = Parser { text: formula, at: 0, depth: 0, instance };
    let value = parser.product()?;
    parser.skip_space();
    if parser.at < formula.len() {
        return Err(parser.wrong("the end, '*' or '/'"));
    }
    Ok(value)
}

/// Text that is no formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormulaError {
    formula: String,
    at: usize,
    expected: &'static str,
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no formula: expected {} at position {}", self.formula, self.expected, self.at + 1)
    }
}

impl Error for FormulaError {}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    instance: &'a Instance,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn wrong(&self, expected: &'static str) -> FormulaError {
        FormulaError { formula: self.text.to_owned(), at: self.at, expected }
    }

    fn eat(&mut self, symbol: char) -> bool {
        self.skip_space();
        let there = self.rest().starts_with(symbol);
        self.at += if there { symbol.len_utf8() } else { 0 };
        there
    }

    fn expect(&mut self, symbol: char, name: &'static str) -> Result<(), FormulaError> {
        if self.eat(symbol) { Ok(()) } else { Err(self.wrong(name)) }
    }

    fn product(&mut self) -> Result<i128, FormulaError> {
        let mut value = self.term()?;
        loop {
            if self.eat('*') {
                let factor = self.term()?;
                value = value.checked_mul(factor).ok_or_else(|| self.wrong("a smaller factor"))?;
            } else if self.eat('/') {
                let divisor = self.term()?;
                value = value.checked_div(divisor).ok_or_else(|| self.wrong("a divisor other than zero"))?;
            } else {
                return Ok(value);
            }
        }
    }

    fn term(&mut self) -> Result<i128, FormulaError> {
        for (open, close, name) in [('{', '}', "'}'"), ('(', ')', "')'")] {
            if self.eat(open) {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(self.wrong("less nesting"));
                }
                let value = self.product()?;
                self.expect(close, name)?;
                self.depth -= 1;
                return Ok(value);
            }
        }
        self.skip_space();
        let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest().len());
        let word = self.rest()[..length].to_owned();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse().map_err(|_| self.wrong("a whole number"))?;
            self.at += length;
            return Ok(number);
        }
        let value = match word.as_str() {
            "DBInstanceClassMemory" => Some(i128::from(self.instance.memory)),
            "DBInstanceVCPU" => Some(i128::from(self.instance.vcpu)),
            "AllocatedStorage" => Some(i128::from(self.instance.storage)),
            _ => None,
        };
        if let Some(value) = value {
            self.at += length;
            return Ok(value);
        }
        self.function(&word.to_ascii_uppercase(), length)
    }

    fn function(&mut self, name: &str, length: usize) -> Result<i128, FormulaError> {
        if !matches!(name, "GREATEST" | "LEAST" | "SUM" | "LOG") {
            return Err(self.wrong("a number, a variable of the instance, GREATEST, LEAST, SUM or log"));
        }
        self.at += length;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("less nesting"));
        }
        self.expect('(', "'('")?;
        let mut values = vec![self.product()?];
        while self.eat(',') {
            values.push(self.product()?);
        }
        self.expect(')', "',' or ')'")?;
        self.depth -= 1;
        let first = values[0];
        match name {
            "GREATEST" => Ok(values.into_iter().fold(first, i128::max)),
            "LEAST" => Ok(values.into_iter().fold(first, i128::min)),
            "SUM" => values
                .into_iter()
                .try_fold(0_i128, i128::checked_add)
                .ok_or_else(|| self.wrong("smaller terms")),
            _ if first > 0 => Ok(i128::from(first.ilog2())),
            _ => Err(self.wrong("a logarithm of something above zero")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const M5_LARGE: Instance = Instance { memory: 8 << 30, vcpu: 2, storage: 100 << 30 };

    #[test]
    fn the_formulas_of_the_default_groups() {
        for (formula, value) in [
            ("{DBInstanceClassMemory*3/4}", 6_442_450_944),
            ("{DBInstanceClassMemory/12582880}", 682),
            ("LEAST({DBInstanceClassMemory/25165760},12000)", 341),
            ("LEAST({DBInstanceVCPU/2},4)", 1),
            ("GREATEST({log(DBInstanceClassMemory/805306368)*45},1)", 135),
            ("SUM({DBInstanceVCPU},10,1)", 13),
            (" 1 ", 1),
            ("(2*3)/4", 1),
        ] {
            assert_eq!(evaluate(formula, &M5_LARGE), Ok(value), "{formula}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (formula, told) in [
            ("{DBInstanceClassMemory*3/4", "expected '}' at position 27"),
            (
                "DBInstanceClassMemry/2",
                "expected a number, a variable of the instance, GREATEST, LEAST, SUM or log at position 1",
            ),
            ("1/0", "expected a divisor other than zero at position 4"),
            ("1 2", "expected the end, '*' or '/' at position 3"),
            ("log(0)", "expected a logarithm of something above zero at position 7"),
            ("", "expected a number, a variable of the instance, GREATEST, LEAST, SUM or log at position 1"),
        ] {
            let error = evaluate(formula, &M5_LARGE).unwrap_err().to_string();
            assert!(error.ends_with(told), "{error}");
        }
    }

    proptest! {
        #[test]
        fn nonsense_never_breaks_it(text in "[{}()*/,0-9A-Za-z é]{0,60}") {
            let _ = evaluate(&text, &M5_LARGE);
        }

        #[test]
        fn a_product_is_taken_from_left_to_right(a in 0_i128..1 << 40, b in 0_i128..1 << 20, c in 1_i128..1 << 20) {
            prop_assert_eq!(evaluate(&format!("{a}*{b}/{c}"), &M5_LARGE), Ok(a * b / c));
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        assert!(evaluate(&"(".repeat(100_000), &M5_LARGE).is_err());
        assert!(evaluate(&"LEAST(".repeat(100_000), &M5_LARGE).is_err());
    }
}
