//! The space of configurations: parameters, relations between them, and points as the models see them.

mod param;
mod relation;
mod value;

pub use param::{Condition, Kind, Param};
pub use relation::{Relation, Term};
pub use value::{Value, Values};

pub(crate) use param::Coord;
use relation::Rule;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A configuration as coordinates, one per parameter, in the space's order.
pub(crate) type Point = Vec<Coord>;

/// Why a space cannot be searched, or why values do not belong to it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct SpaceError {
    param: String,
    kind: SpaceErrorKind,
}

/// The kinds of [`SpaceError`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpaceErrorKind {
    /// A parameter is declared wrongly.
    Param(String),
    /// A relation is declared wrongly or can never hold.
    Relation(String),
    /// A value is missing or does not belong to its parameter.
    Value(String),
}

impl SpaceError {
    pub(crate) fn new(param: &str, kind: SpaceErrorKind) -> Self {
        Self { param: param.to_owned(), kind }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> &SpaceErrorKind {
        &self.kind
    }
}

impl fmt::Display for SpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (SpaceErrorKind::Param(text) | SpaceErrorKind::Relation(text) | SpaceErrorKind::Value(text)) =
            &self.kind;
        write!(f, "parameter {}: {text}", self.param)
    }
}

/// Parameters and the relations that every proposed configuration keeps.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Space {
    params: Vec<Param>,
    relations: Vec<Relation>,
    rules: Vec<Rule>,
    conditions: Vec<Option<(usize, Vec<Coord>)>>,
    free: Vec<usize>,
    numbers: Vec<usize>,
    levels: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct Parts {
    params: Vec<Param>,
    relations: Vec<Relation>,
}

impl TryFrom<Parts> for Space {
    type Error = SpaceError;
    fn try_from(parts: Parts) -> Result<Self, SpaceError> {
        Self::new(parts.params, parts.relations)
    }
}

impl From<Space> for Parts {
    fn from(space: Space) -> Self {
        Self { params: space.params, relations: space.relations }
    }
}

impl Space {
    /// A space of `params` in which `relations` hold.
    ///
    /// # Errors
    /// A parameter or relation that is declared wrongly, a name twice, a relation that not even the smallest
    /// values keep, or no parameter with more than one value.
    pub fn new(params: Vec<Param>, relations: Vec<Relation>) -> Result<Self, SpaceError> {
        for (i, p) in params.iter().enumerate() {
            p.check()?;
            if params[..i].iter().any(|q| q.name == p.name) {
                return Err(SpaceError::new(&p.name, SpaceErrorKind::Param("it is there twice".into())));
            }
        }
        let free: Vec<usize> = (0..params.len()).filter(|i| params[*i].free()).collect();
        if free.is_empty() {
            return Err(SpaceError::new("(all)", SpaceErrorKind::Param("there is nothing to choose".into())));
        }
        let mut space = Self {
            rules: Vec::new(),
            conditions: Vec::new(),
            numbers: free
                .iter()
                .copied()
                .filter(|i| params[*i].numeric() && params[*i].ordinary_values() > 1)
                .collect(),
            levels: free.iter().copied().filter(|i| params[*i].levels() > 0).collect(),
            free,
            params,
            relations,
        };
        space.rules = space.relations.iter().map(|r| space.rule(r)).collect::<Result<_, _>>()?;
        space.conditions = space.params.iter().map(|p| space.condition(p)).collect::<Result<_, _>>()?;
        let mut smallest: Point = space.default_point();
        for (i, p) in space.params.iter().enumerate() {
            if p.numeric() {
                smallest[i] = p.snap(Coord::Num(0.0));
            }
        }
        space.repair(&mut smallest);
        if let Some(i) = space.rules.iter().position(|r| !r.holds(&space.params, &smallest)) {
            let text = format!(
                "{:?} does not hold even with the smallest values; widen the limit",
                space.relations[i]
            );
            return Err(SpaceError::new("(relation)", SpaceErrorKind::Relation(text)));
        }
        Ok(space)
    }

    /// The parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The relations.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The default configuration.
    pub fn default_values(&self) -> Values {
        self.params.iter().map(|p| (p.name.clone(), p.default.clone())).collect()
    }

    /// The same space with a parameter held at one value.
    ///
    /// # Errors
    /// An unknown parameter, or a value that is not one of its values.
    pub fn fix(&self, name: &str, value: &Value) -> Result<Self, SpaceError> {
        let i = self.index(name)?;
        let unfit = || SpaceError::new(name, SpaceErrorKind::Value(format!("{value} is not a value of it")));
        self.params[i].encode(value).ok_or_else(unfit)?;
        let mut params = self.params.clone();
        params[i].default = value.clone();
        params[i].kind = match &self.params[i].kind {
            Kind::Bool | Kind::Ordinal(_) => Kind::Ordinal(vec![value.clone()]),
            Kind::Enum(_) => Kind::Enum(vec![value.to_string()]),
            Kind::Float { .. } => {
                let x = value.as_f64().ok_or_else(unfit)?;
                Kind::Float { min: x, max: x, log: false, specials: vec![] }
            }
            Kind::Int { .. } => {
                let x = value.as_f64().ok_or_else(unfit)? as i64;
                Kind::Int { min: x, max: x, log: false, step: 1, specials: vec![] }
            }
        };
        Self::new(params, self.relations.clone())
    }

    /// The same space with a numeric parameter's ordinary range cut to `[low, high]`; special values stay, and the
    /// default moves to the nearest end if it is outside.
    ///
    /// # Errors
    /// An unknown or unordered parameter, or nothing left of its range.
    pub fn narrow(&self, name: &str, low: f64, high: f64) -> Result<Self, SpaceError> {
        let i = self.index(name)?;
        let mut params = self.params.clone();
        let p = &mut params[i];
        match &mut p.kind {
            Kind::Float { min, max, .. } => {
                *min = min.max(low);
                *max = max.min(high);
            }
            Kind::Int { min, max, step, .. } => {
                let skip = ((low - *min as f64) / *step as f64).ceil().max(0.0) as i64;
                *min += skip * *step;
                *max = (*max).min(high.floor() as i64);
            }
            Kind::Ordinal(values) => values.retain(|v| v.as_f64().is_none_or(|x| (low..=high).contains(&x))),
            Kind::Enum(_) | Kind::Bool => {
                return Err(SpaceError::new(name, SpaceErrorKind::Value("it has no range to narrow".into())));
            }
        }
        if p.encode(&p.default).is_none() {
            let above = p.default.as_f64().is_some_and(|d| d > high);
            p.default = p.decode(Coord::Num(if above { 1.0 } else { 0.0 }));
        }
        Self::new(params, self.relations.clone())
    }

    /// True if every relation holds for these values.
    ///
    /// # Errors
    /// A value is missing or is not one of its parameter's.
    pub fn keeps_relations(&self, values: &Values) -> Result<bool, SpaceError> {
        let point = self.encode(values)?;
        Ok(self.rules.iter().all(|r| r.holds(&self.params, &point)))
    }

    pub(crate) fn index(&self, name: &str) -> Result<usize, SpaceError> {
        let unknown = || SpaceError::new(name, SpaceErrorKind::Value("there is no such parameter".into()));
        self.params.iter().position(|p| p.name == name).ok_or_else(unknown)
    }

    fn rule(&self, relation: &Relation) -> Result<Rule, SpaceError> {
        let numeric = |name: &str| {
            let i = self.index(name)?;
            let p = &self.params[i];
            let numbers = match &p.kind {
                Kind::Ordinal(values) => values.iter().all(|v| v.as_f64().is_some()),
                Kind::Float { .. } | Kind::Int { .. } => true,
                Kind::Enum(_) | Kind::Bool => false,
            };
            if numbers {
                Ok(i)
            } else {
                Err(SpaceError::new(name, SpaceErrorKind::Relation("it is not a number".into())))
            }
        };
        Ok(match relation {
            Relation::LessEq { small, large } => Rule::LessEq(numeric(small)?, numeric(large)?),
            Relation::MultipleOf { param, of } => Rule::MultipleOf(numeric(param)?, numeric(of)?),
            Relation::Budget { terms, limit } => {
                if terms.iter().any(|t| t.factor.is_nan() || t.factor <= 0.0) {
                    let text = "a budget's factors must be positive";
                    return Err(SpaceError::new("(budget)", SpaceErrorKind::Relation(text.into())));
                }
                let of = |t: &Term| -> Result<_, SpaceError> {
                    Ok((t.factor, t.params.iter().map(|p| numeric(p)).collect::<Result<_, _>>()?))
                };
                Rule::Budget(terms.iter().map(of).collect::<Result<_, _>>()?, *limit)
            }
        })
    }

    fn condition(&self, param: &Param) -> Result<Option<(usize, Vec<Coord>)>, SpaceError> {
        let Some(when) = &param.when else { return Ok(None) };
        let i = self.index(&when.param)?;
        let unfit = |v: &Value| {
            SpaceError::new(
                &param.name,
                SpaceErrorKind::Param(format!("its condition names {v}, no value of {}", when.param)),
            )
        };
        let coords = when.values.iter().map(|v| self.params[i].encode(v).ok_or_else(|| unfit(v)));
        Ok(Some((i, coords.collect::<Result<_, _>>()?)))
    }

    /// The parameters that have more than one value.
    pub(crate) fn free(&self) -> &[usize] {
        &self.free
    }

    pub(crate) fn default_point(&self) -> Point {
        self.params.iter().map(|p| p.encode(&p.default).unwrap_or(Coord::Num(0.0))).collect()
    }

    /// # Errors
    /// A value is missing or is not one of its parameter's.
    pub(crate) fn encode(&self, values: &Values) -> Result<Point, SpaceError> {
        self.params
            .iter()
            .map(|p| {
                let Some(v) = values.get(&p.name) else {
                    return Err(SpaceError::new(
                        &p.name,
                        SpaceErrorKind::Value("its value is missing".into()),
                    ));
                };
                p.encode(v).ok_or_else(|| {
                    SpaceError::new(&p.name, SpaceErrorKind::Value(format!("{v} is not a value of it")))
                })
            })
            .collect()
    }

    pub(crate) fn decode(&self, point: &[Coord]) -> Values {
        self.params.iter().zip(point).map(|(p, c)| (p.name.clone(), p.decode(*c))).collect()
    }

    /// Moves each coordinate to the nearest value, keeps the relations and resets what is switched off.
    pub(crate) fn repair(&self, point: &mut [Coord]) {
        for (p, c) in self.params.iter().zip(point.iter_mut()) {
            *c = p.snap(*c);
        }
        for (i, condition) in self.conditions.iter().enumerate() {
            if let Some((decider, on)) = condition
                && !on.contains(&point[*decider])
            {
                point[i] = self.params[i].encode(&self.params[i].default).unwrap_or(point[i]);
            }
        }
        for _ in 0..8 {
            if self.rules.iter().all(|r| r.holds(&self.params, point)) {
                return;
            }
            for rule in &self.rules {
                rule.repair(&self.params, point);
            }
        }
    }

    /// How many numeric and how many level features a point has.
    pub(crate) fn feature_counts(&self) -> (usize, usize) {
        (self.numbers.len(), self.levels.len())
    }

    /// A point as the models see it: positions in `[0, 1]` (the middle for a special value), then level numbers
    /// (one past the last for an ordinary number). Distances between such vectors are Euclidean and Hamming.
    pub(crate) fn features(&self, point: &[Coord]) -> Vec<f64> {
        let numbers = self.numbers.iter().map(|i| match point[*i] {
            Coord::Num(u) => u,
            Coord::Level(_) => 0.5,
        });
        let levels = self.levels.iter().map(|i| match point[*i] {
            Coord::Level(l) => l as f64,
            Coord::Num(_) => self.params[*i].levels() as f64,
        });
        numbers.chain(levels).collect()
    }
}

impl Param {
    /// The coordinate of the value nearest to a coordinate.
    pub(crate) fn snap(&self, coord: Coord) -> Coord {
        self.encode(&self.decode(coord)).unwrap_or(coord)
    }
}

#[cfg(test)]
mod tests;
