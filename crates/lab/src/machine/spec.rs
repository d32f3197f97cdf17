//! What is written after `--machine`.

use crate::catalogue::{Catalogue, CatalogueError, Class};
use crate::defaults::Instance;
use std::error::Error;
use std::fmt;

/// What a machine has, at the scale at which it is emulated.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineSpec {
    /// As people call it: `db.m5.4xlarge, 2000 IOPS at 1/16`.
    pub name: String,
    /// Processors; a quota, so it may be a fraction. `None`: all that there are.
    pub cpu: Option<f64>,
    /// Bytes of memory; `None`: all that there is.
    pub memory: Option<u64>,
    /// I/O operations a second, for reads and for writes each; `None`: what the disk does.
    pub iops: Option<u32>,
    /// Bytes a second, for reads and for writes each.
    pub bytes_s: Option<u64>,
    /// Where the numbers are from.
    pub origin: Origin,
}

/// Where a machine's numbers are from.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// This machine as it is.
    Host,
    /// A class of the catalogue.
    Class {
        /// The class in full size.
        class: Box<Class>,
        /// Provisioned I/O operations in full size.
        provisioned: Option<u32>,
        /// It is emulated at 1/scale.
        scale: u32,
    },
    /// Numbers that the user stated.
    Stated,
}

impl MachineSpec {
    /// This machine as it is.
    pub fn host() -> Self {
        Self { name: "host".into(), cpu: None, memory: None, iops: None, bytes_s: None, origin: Origin::Host }
    }

    /// Reads `host`, `CLASS`, `CLASS,iops=2000`, or `cpu=1,memory=4G,iops=125`. `iops` and `scale` hold where the text does not say; with a class
    /// they are of the full size, and everything is divided by `scale`.
    ///
    /// # Errors
    /// If it is none of these, or names a class that is not in the catalogue.
    pub fn parse(
        text: &str,
        iops: Option<u32>,
        scale: u32,
        catalogue: &Catalogue,
    ) -> Result<Self, SpecError> {
        let wrong = |why: String| SpecError::Wrong { text: text.to_owned(), why };
        let (mut cpu, mut memory, mut iops, mut scale, mut class) = (None, None, iops, scale, None);
        for (at, part) in text.split(',').map(str::trim).enumerate() {
            match part.split_once('=') {
                None if at == 0 && part == "host" => {}
                None if at == 0 => class = Some(catalogue.class(part).map_err(SpecError::Unknown)?.clone()),
                Some(("cpu", value)) if class.is_none() => {
                    let n: f64 =
                        value.parse().map_err(|_| wrong(format!("{value:?} is no number of processors")))?;
                    if !(0.01..=4096.0).contains(&n) {
                        return Err(wrong("cpu is from 0.01 to 4096".into()));
                    }
                    cpu = Some(n);
                }
                Some(("memory", value)) if class.is_none() => {
                    memory = Some(bytes(value).filter(|b| *b >= 16 << 20).ok_or_else(|| {
                        wrong(format!("memory={value} is no size of at least 16M; write 512M or 4G"))
                    })?);
                }
                Some(("iops", value)) => {
                    let n = value.parse().ok().filter(|n| *n > 0);
                    iops = Some(n.ok_or_else(|| wrong(format!("{value:?} is no number of I/O operations")))?);
                }
                Some(("scale", value)) if class.is_some() => {
                    scale = value
                        .parse()
                        .map_err(|_| wrong(format!("{value:?} is no scale; write 16 for 1/16")))?;
                }
                _ => return Err(wrong(format!("{part:?} means nothing here"))),
            }
        }
        if scale == 0 || scale > 1024 {
            return Err(wrong("a scale is from 1 to 1024".into()));
        }
        match class {
            Some(class) => Ok(Self::of_class(class, iops, scale)),
            None if (cpu, memory, iops) == (None, None, None) => Ok(Self::host()),
            None => {
                let name =
                    if text == "host" { format!("host,iops={}", iops.unwrap_or(0)) } else { text.to_owned() };
                Ok(Self { name, cpu, memory, iops, bytes_s: None, origin: Origin::Stated })
            }
        }
    }

    fn of_class(class: Class, provisioned: Option<u32>, scale: u32) -> Self {
        let mut name = class.name.clone();
        if let Some(iops) = provisioned {
            name += &format!(", {iops} IOPS");
        }
        if scale > 1 {
            name += &format!(" at 1/{scale}");
        }
        // More than the link to the disk carries is of no use.
        let iops = match (provisioned, class.iops) {
            (Some(wanted), Some(link)) => Some(wanted.min(link)),
            (wanted, link) => wanted.or(link),
        };
        Self {
            name,
            cpu: Some(f64::from(class.vcpu) / f64::from(scale)),
            memory: Some(class.memory / u64::from(scale)),
            iops: iops.map(|iops| (iops / scale).max(1)),
            bytes_s: class.mb_s.map(|mb| bytes_of(mb / f64::from(scale))),
            origin: Origin::Class { class: Box::new(class), provisioned, scale },
        }
    }

    /// What formulas of the provider's defaults are evaluated for, and the scale; only a class of a provider has such defaults.
    pub fn instance(&self) -> Option<(Instance, u32)> {
        match &self.origin {
            Origin::Class { class, scale, .. } => {
                Some((Instance { memory: class.memory, vcpu: class.vcpu, storage: 0 }, *scale))
            }
            Origin::Host | Origin::Stated => None,
        }
    }

    /// The text that [`parse`](Self::parse) reads back to the same machine.
    pub fn to_text(&self) -> String {
        match &self.origin {
            Origin::Host => "host".into(),
            Origin::Class { class, provisioned, scale } => {
                let iops = provisioned.map_or_else(String::new, |n| format!(",iops={n}"));
                format!("{}{iops},scale={scale}", class.name)
            }
            Origin::Stated => {
                let parts = [
                    self.cpu.map(|n| format!("cpu={n}")),
                    self.memory.map(|n| format!("memory={n}")),
                    self.iops.map(|n| format!("iops={n}")),
                ];
                parts.into_iter().flatten().collect::<Vec<_>>().join(",")
            }
        }
    }

    /// Whether anything has to be emulated.
    pub fn is_host(&self) -> bool {
        self.origin == Origin::Host
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and far below 2^53")]
fn bytes_of(megabytes: f64) -> u64 {
    (megabytes * 1e6) as u64
}

fn bytes(text: &str) -> Option<u64> {
    let (number, shift) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (&text[..at], 10),
        (at, 'M' | 'm') => (&text[..at], 20),
        (at, 'G' | 'g') => (&text[..at], 30),
        _ => (text, 0),
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Text that names no machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpecError {
    /// The class is not in the catalogue.
    Unknown(CatalogueError),
    /// The text can't be read.
    Wrong {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: String,
    },
}

impl SpecError {
    /// What the user can do.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown(error) if !error.nearest().is_empty() => {
                format!("there is {}", error.nearest().join(", "))
            }
            Self::Unknown(_) => "tunesmith price --list shows all; add your own to a machines.toml".into(),
            Self::Wrong { .. } => "write host, db.m5.4xlarge, or cpu=1,memory=4G,iops=125".into(),
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => error.fmt(f),
            Self::Wrong { text, why } => write!(f, "{text:?} is no machine: {why}"),
        }
    }
}

impl Error for SpecError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str, iops: Option<u32>, scale: u32) -> Result<MachineSpec, SpecError> {
        MachineSpec::parse(text, iops, scale, &Catalogue::builtin())
    }

    #[test]
    fn a_class_is_divided_by_the_scale() {
        let machine = parse("db.m5.4xlarge", Some(2000), 16).unwrap();
        assert_eq!((machine.cpu, machine.memory, machine.iops), (Some(1.0), Some(4 << 30), Some(125)));
        assert_eq!(machine.name, "db.m5.4xlarge, 2000 IOPS at 1/16");
        let half = parse("db.m5.2xlarge,iops=1000,scale=16", None, 1).unwrap();
        assert_eq!((half.cpu, half.memory, half.iops), (Some(0.5), Some(2 << 30), Some(62)));
    }

    #[test]
    fn the_link_to_the_disk_binds_first() {
        assert_eq!(parse("db.m5.large", Some(10_000), 1).unwrap().iops, Some(3600));
        assert_eq!(parse("m1.small", None, 1).unwrap().iops, None, "no limit is stated, so none is made up");
    }

    #[test]
    fn a_machine_may_be_stated() {
        let machine = parse("cpu=1,memory=4G,iops=125", None, 1).unwrap();
        assert_eq!((machine.cpu, machine.memory, machine.iops), (Some(1.0), Some(4 << 30), Some(125)));
        assert_eq!(machine.instance(), None);
        assert!(parse("host", None, 1).unwrap().is_host());
        assert_eq!(parse("host", Some(200), 1).unwrap().iops, Some(200));
    }

    #[test]
    fn a_machine_is_read_back_from_its_own_text() {
        for (text, iops, scale) in [
            ("db.m5.4xlarge", Some(2000), 16),
            ("m1.small", None, 4),
            ("cpu=0.5,memory=2G", Some(62), 1),
            ("host", None, 1),
            ("host", Some(9), 1),
        ] {
            let machine = parse(text, iops, scale).unwrap();
            let again = parse(&machine.to_text(), None, 1).unwrap();
            assert_eq!(
                (again.cpu, again.memory, again.iops, again.bytes_s),
                (machine.cpu, machine.memory, machine.iops, machine.bytes_s)
            );
        }
    }

    #[test]
    fn what_is_no_machine_is_refused_with_the_next_step() {
        for text in [
            "",
            "cpu=0",
            "cpu=nan",
            "memory=4T",
            "memory=1M",
            "iops=0",
            "db.m5.large,cpu=2",
            "db.m5.large,scale=0",
            "cpu=1,speed=2",
        ] {
            assert!(parse(text, None, 1).is_err(), "{text}");
        }
        assert!(parse("db.m5.4xlarg", None, 1).unwrap_err().hint().contains("db.m5.4xlarge"));
    }

    proptest! {
        #[test]
        fn nonsense_never_breaks_it(text in ".{0,40}") {
            let _ = parse(&text, None, 16);
        }
    }
}
