//! Burst credits of cloud volumes, as the provider documents them (RDS user guide, `CHAP_Storage`; EBS volume types).
//!
//! A bucket of I/O credits fills at the volume's base rate and is drained by what is done; while there are credits the volume does its burst
//! rate, afterwards its base rate. Pure: time passes when [`Bucket::pass`] says so.

/// Credits of a full gp2 bucket, for one volume of the stripe set.
const GP2_CREDITS: f64 = 5_400_000.0;
/// What a gp2 volume below 1,000 GiB bursts to.
const GP2_BURST: f64 = 3000.0;
/// From this size on RDS stripes over four volumes, GiB.
const STRIPED: u64 = 400;

/// What a volume sustains and bursts to, I/O operations a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Volume {
    /// Sustained.
    pub base: f64,
    /// While there are credits.
    pub burst: f64,
    /// Credits when full; zero where nothing bursts.
    pub credits: f64,
}

impl Volume {
    /// General purpose, first generation: 3 operations a GiB, at least 100, at most 16,000 a volume and 64,000 striped.
    pub fn gp2(gib: u64) -> Self {
        let volumes = if gib >= STRIPED { 4.0 } else { 1.0 };
        let base = (3.0 * gib as f64).clamp(100.0 * volumes, 16_000.0 * volumes);
        // Below 1,000 GiB a volume, the base is less than the burst.
        let burst = base.max(GP2_BURST * volumes);
        Self { base, burst, credits: if burst > base { GP2_CREDITS * volumes } else { 0.0 } }
    }

    /// General purpose, third generation: no credits; 3,000, or 12,000 striped, and what is paid on top.
    pub fn gp3(gib: u64, provisioned: Option<u32>) -> Self {
        let included = if gib >= STRIPED { 12_000.0 } else { 3000.0 };
        let base = provisioned.map_or(included, f64::from).max(included);
        Self { base, burst: base, credits: 0.0 }
    }

    /// Provisioned: what is paid, at all times.
    pub fn io1(provisioned: u32) -> Self {
        Self { base: f64::from(provisioned), burst: f64::from(provisioned), credits: 0.0 }
    }

    /// The same volume in a machine emulated at 1/`scale`: rates are divided, and credits too, so that a burst lasts as long.
    #[must_use]
    pub fn scaled(self, scale: u32) -> Self {
        let k = f64::from(scale.max(1));
        Self { base: self.base / k, burst: self.burst / k, credits: self.credits / k }
    }

    /// How long a full bucket lasts at the burst rate, seconds; infinite where nothing has to be saved up.
    pub fn burst_seconds(&self) -> f64 {
        if self.credits > 0.0 { self.credits / (self.burst - self.base) } else { f64::INFINITY }
    }
}

/// A volume's credits as they come and go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    volume: Volume,
    credits: f64,
}

impl Bucket {
    /// A full one, as a new volume has.
    pub fn full(volume: Volume) -> Self {
        Self { volume, credits: volume.credits }
    }

    /// An empty one.
    pub fn empty(volume: Volume) -> Self {
        Self { volume, credits: 0.0 }
    }

    /// Lets `seconds` pass in which `wanted` operations a second are asked for; returns how many a second are done, on average.
    pub fn pass(&mut self, seconds: f64, wanted: f64) -> f64 {
        if seconds <= 0.0 {
            return 0.0;
        }
        let (base, full) = (self.volume.base, self.volume.credits);
        let rate = wanted.max(0.0).min(self.volume.burst);
        if rate <= base {
            self.credits = (self.credits + (base - rate) * seconds).min(full);
            return rate;
        }
        let lasts = (self.credits / (rate - base)).min(seconds);
        self.credits = (self.credits - (rate - base) * lasts).max(0.0);
        (rate * lasts + base * (seconds - lasts)) / seconds
    }

    /// Credits left, as a share of a full bucket; one where nothing bursts.
    pub fn balance(&self) -> f64 {
        if self.volume.credits > 0.0 { self.credits / self.volume.credits } else { 1.0 }
    }

    /// What the disk may do from now on, operations a second: for a throttle that is set again from time to time.
    pub fn rate(&self) -> f64 {
        if self.volume.credits > 0.0 && self.credits <= 0.0 { self.volume.base } else { self.volume.burst }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gp2_by_size_as_documented() {
        for (gib, base, burst) in [
            (20, 100.0, 3000.0),
            (100, 300.0, 3000.0),
            (334, 1002.0, 3000.0),
            (400, 1200.0, 12_000.0),
            (6000, 18_000.0, 18_000.0),
            (30_000, 64_000.0, 64_000.0),
        ] {
            let volume = Volume::gp2(gib);
            assert_eq!((volume.base, volume.burst), (base, burst), "{gib} GiB");
        }
        // The documentation's own example: 100 GiB burst for 2,000 s at 3,000.
        assert_eq!(Volume::gp2(100).burst_seconds(), 2000.0);
    }

    #[test]
    fn gp3_and_io1_do_not_burst() {
        assert_eq!(Volume::gp3(100, None).base, 3000.0);
        assert_eq!(Volume::gp3(400, Some(14_000)).burst, 14_000.0);
        let mut bucket = Bucket::full(Volume::io1(1000));
        assert_eq!(bucket.pass(3600.0, 5000.0), 1000.0);
        assert_eq!((bucket.balance(), bucket.rate()), (1.0, 1000.0));
    }

    #[test]
    fn a_burst_ends_when_its_credits_do_and_comes_back_with_them() {
        let mut bucket = Bucket::full(Volume::gp2(100));
        assert_eq!(bucket.pass(2000.0, 9999.0), 3000.0);
        assert_eq!((bucket.balance(), bucket.rate()), (0.0, 300.0));
        assert_eq!(bucket.pass(100.0, 9999.0), 300.0);
        bucket.pass(9000.0, 0.0);
        assert_eq!(bucket.balance(), 0.5);
        // A thousand seconds of burst are left; then the base.
        assert_eq!(bucket.pass(2000.0, 3000.0), (3000.0 + 300.0) / 2.0);
    }

    #[test]
    fn a_scaled_volume_bursts_as_long() {
        let (whole, part) = (Volume::gp2(100), Volume::gp2(100).scaled(16));
        assert_eq!(whole.burst_seconds(), part.burst_seconds());
        assert_eq!(part.burst, 187.5);
    }

    proptest! {
        #[test]
        fn no_credit_is_made_or_lost(steps in proptest::collection::vec((0.1..500.0_f64, 0.0..5000.0_f64), 1..40), gib in 20_u64..2000) {
            let volume = Volume::gp2(gib);
            let mut bucket = Bucket::full(volume);
            for (seconds, wanted) in steps {
                let before = bucket.credits;
                let done = bucket.pass(seconds, wanted);
                prop_assert!(done <= wanted + 1e-9 && done <= volume.burst + 1e-9);
                prop_assert!(bucket.credits >= 0.0 && bucket.credits <= volume.credits);
                let earned = (volume.base - done) * seconds;
                let kept = bucket.credits - before;
                prop_assert!(kept <= earned + 1e-3, "{kept} from {earned}");
                prop_assert!((kept - earned).abs() < 1e-3 || bucket.credits >= volume.credits - 1e-6);
            }
        }
    }
}
