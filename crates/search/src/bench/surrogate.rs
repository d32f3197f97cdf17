//! The measured task: MySQL 5.7 under sysbench, 20 knobs (data/README.md).

use crate::space::{Kind, Param, Space, Value, Values};

const KNOBS: &str = include_str!("../../data/sysbench-20knob.json");
const TREES: &[u8] = include_bytes!("../../data/sysbench-20knob.bin");

/// Marks a leaf in the packed trees.
const LEAF: u8 = 255;

#[derive(serde::Deserialize)]
struct Document {
    knobs: Vec<Knob>,
}

#[derive(serde::Deserialize)]
struct Knob {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    min: Option<f64>,
    max: Option<f64>,
    observed_min: f64,
    observed_max: f64,
    #[serde(default)]
    values: Vec<String>,
    default: f64,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    feature: u8,
    right: u32,
    // Threshold of an inner node, value of a leaf.
    number: f32,
}

/// A forest of regression trees over knobs in their native units.
#[derive(Debug, Clone)]
pub(crate) struct Forest {
    space: Space,
    roots: Vec<usize>,
    nodes: Vec<Node>,
}

/// The packed bytes, read from the front.
struct Reader(&'static [u8]);

impl Reader {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }
}

impl Forest {
    /// The forest in the repository; `None` only if its data are damaged, which a test excludes.
    pub(crate) fn sysbench() -> Option<Self> {
        let document: Document = serde_json::from_str(KNOBS).ok()?;
        let params = document.knobs.iter().map(param).collect();
        let space = Space::new(params, vec![]).ok()?;
        let mut reader = Reader(TREES);
        let trees = reader.u16()?;
        let mut tables: Vec<Vec<f32>> = Vec::new();
        for _ in &document.knobs {
            let count = reader.u16()?;
            tables.push((0..count).map(|_| reader.take().map(f32::from_le_bytes)).collect::<Option<_>>()?);
        }
        let (mut roots, mut nodes) = (Vec::new(), Vec::new());
        for _ in 0..trees {
            roots.push(nodes.len());
            read_tree(&mut reader, &tables, &mut nodes)?;
        }
        reader.0.is_empty().then_some(Self { space, roots, nodes })
    }

    pub(crate) fn space(&self) -> &Space {
        &self.space
    }

    /// Throughput of a configuration, transactions per second.
    pub(crate) fn throughput(&self, values: &Values) -> f64 {
        let x: Vec<f32> = self.space.params().iter().map(|p| number(p, values.get(&p.name)) as f32).collect();
        let sum: f64 = self
            .roots
            .iter()
            .map(|root| {
                let mut at = *root;
                while self.nodes[at].feature != LEAF {
                    let node = self.nodes[at];
                    at = if x[usize::from(node.feature)] <= node.number {
                        at + 1
                    } else {
                        node.right as usize
                    };
                }
                f64::from(self.nodes[at].number)
            })
            .sum();
        sum / self.roots.len() as f64
    }
}

/// Reads one tree in preorder; an explicit stack of nodes that wait for their right child.
fn read_tree(reader: &mut Reader, tables: &[Vec<f32>], nodes: &mut Vec<Node>) -> Option<()> {
    let mut waiting: Vec<usize> = Vec::new();
    loop {
        let [feature] = reader.take()?;
        let index = reader.u16()?;
        if feature != LEAF {
            let number = *tables.get(usize::from(feature))?.get(usize::from(index))?;
            waiting.push(nodes.len());
            nodes.push(Node { feature, right: 0, number });
            continue;
        }
        nodes.push(Node { feature, right: 0, number: f32::from(index) / 64.0 });
        match waiting.pop() {
            Some(parent) => nodes[parent].right = u32::try_from(nodes.len()).ok()?,
            None => return Some(()),
        }
    }
}

/// The knob as other optimisers get it too: a logarithmic scale where the range spans a factor of 100.
fn param(knob: &Knob) -> Param {
    if knob.kind == "enum" {
        let values: Vec<&str> = knob.values.iter().map(String::as_str).collect();
        return Param::choice(&knob.name, &values, values[knob.default as usize]);
    }
    let low = knob.min.unwrap_or(knob.observed_min).max(knob.observed_min).min(knob.default);
    let high = knob.max.unwrap_or(knob.observed_max).min(knob.observed_max).max(knob.default);
    let p = Param::int(&knob.name, low as i64, high as i64, knob.default as i64);
    if low > 0.0 && high / low >= 100.0 { p.log() } else { p }
}

fn number(param: &Param, value: Option<&Value>) -> f64 {
    match (&param.kind, value) {
        (Kind::Enum(names), Some(Value::Text(t))) => names.iter().position(|n| n == t).unwrap_or(0) as f64,
        (_, Some(v)) => v.as_f64().unwrap_or(f64::NAN),
        (_, None) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packed_forest_gives_the_published_default() {
        let forest = Forest::sysbench().unwrap();
        assert_eq!(forest.space().params().len(), 20);
        let default = forest.throughput(&forest.space().default_values());
        assert!((default - 284.667_62).abs() < 0.01, "{default}");
    }
}
