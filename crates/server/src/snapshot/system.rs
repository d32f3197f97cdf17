//! The machine's own settings, for a server that runs here. Linux only; elsewhere nothing is known.

use std::collections::BTreeMap;
use std::path::Path;

/// Whether the device under a path is solid state. `None` for what has no device of its own (overlay, network).
pub(super) fn solid_state(path: &str) -> Option<bool> {
    let stat = rustix::fs::stat(path).ok()?;
    let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    let device = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    // A partition has no queue of its own; its disk is the folder above.
    let flag = ["queue/rotational", "../queue/rotational"]
        .iter()
        .find_map(|file| std::fs::read_to_string(device.join(file)).ok())?;
    match flag.trim() {
        "0" => Some(true),
        // A virtual disk says "rotating" whatever is behind it, so only a disk with a maker of its own is believed.
        "1" if is_physical(&device) => Some(false),
        _ => None,
    }
}

/// Whether a block device is a real one: it hangs on no virtual bus, and its maker is none of hypervisors.
fn is_physical(device: &Path) -> bool {
    let Ok(place) = std::fs::canonicalize(device) else { return false };
    let place = place.to_string_lossy().to_ascii_lowercase();
    if ["/virtual/", "virtio", "/vbd", "xen", "vmbus"].iter().any(|bus| place.contains(bus)) {
        return false;
    }
    let vendor = ["device/vendor", "../device/vendor"]
        .iter()
        .find_map(|file| std::fs::read_to_string(device.join(file)).ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    !vendor.trim().is_empty()
        && !["qemu", "vmware", "google", "msft", "virtual", "amazon", "vbox"]
            .iter()
            .any(|maker| vendor.contains(maker))
}

/// Settings and figures of the operating system that rules ask for.
pub(super) fn settings() -> BTreeMap<String, i64> {
    let read = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
    let mut all = BTreeMap::new();
    for (name, path) in [
        ("vm.swappiness", "/proc/sys/vm/swappiness"),
        ("fs.aio-nr", "/proc/sys/fs/aio-nr"),
        ("fs.aio-max-nr", "/proc/sys/fs/aio-max-nr"),
    ] {
        if let Some(value) = read(path) {
            all.insert(name.to_owned(), value);
        }
    }
    if let Some(kib) = std::fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(swap) {
        all.insert("swap_bytes".to_owned(), kib.saturating_mul(1024));
    }
    if let Ok(entries) = std::fs::read_dir("/sys/devices/system/node") {
        let nodes = entries
            .flatten()
            .filter(|entry| {
                let name = entry.file_name();
                let digits = name.to_str().and_then(|name| name.strip_prefix("node"));
                digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            })
            .count();
        all.insert("numa_nodes".to_owned(), i64::try_from(nodes).unwrap_or(i64::MAX));
    }
    all
}

fn swap(meminfo: &str) -> Option<i64> {
    let line = meminfo.lines().find(|line| line.starts_with("SwapTotal:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Today in UTC, `YYYY-MM-DD`.
pub(super) fn today() -> String {
    let seconds = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs());
    date(i64::try_from(seconds / 86_400).unwrap_or(0))
}

/// Civil date of a day since 1970-01-01 (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn date(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (days, text) in [(0, "1970-01-01"), (19_782, "2024-02-29"), (20_788, "2026-12-01")] {
            assert_eq!(date(days), text);
        }
    }

    #[test]
    fn swap_is_read_in_kibibytes() {
        assert_eq!(swap("MemTotal: 1 kB\nSwapTotal:    2048 kB\n"), Some(2048));
        assert_eq!(swap(""), None);
    }
}
