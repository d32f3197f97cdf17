//! Holds an emulated disk against fio: `cargo run --example fio -p tunesmith-lab -- [IOPS [SECONDS]]`, as root, with fio installed.
//!
//! Two figures each: what fio counts, and what the device counts. With `fsync` they differ by what the file system writes for itself; the limit
//! is on the device.

use lab::Catalogue;
use lab::machine::{Emulated, MachineSpec};
use std::error::Error;
use std::path::Path;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let limit: u32 = arguments.next().map_or(Ok(200), |n| n.parse())?;
    let seconds: u32 = arguments.next().map_or(Ok(10), |n| n.parse())?;
    let root = std::env::current_dir()?.join("fio-check");
    let spec = MachineSpec::parse(&format!("iops={limit}"), None, 1, &Catalogue::builtin())?;
    let machine = Emulated::start(&spec, &root, 4 << 30)?;
    if let Some(lacking) = machine.lacking().first() {
        return Err(lacking.to_string().into());
    }
    let throttle = machine.throttle().ok_or("no throttle")?;
    let device = device_of(machine.path())?;
    println!("limit {limit} a second; 16 KiB, 4 jobs, {seconds} s");
    for (name, rw, options) in [
        ("direct writes", "randwrite", ["--direct=1", "--fsync=0"]),
        ("direct reads", "randread", ["--direct=1", "--fsync=0"]),
        ("buffered + fsync", "randwrite", ["--direct=0", "--fsync=1"]),
    ] {
        throttle.off()?;
        let file = machine.path().join("file");
        // Laid out before the limit is on: what is measured is the work, not the making of the file.
        std::fs::write(&file, vec![1; 256 << 20])?;
        std::fs::File::open(&file)?.sync_all()?;
        throttle.on()?;
        let before = completed(&device)?;
        let out = Command::new("fio")
            .args([
                "--name=check",
                "--bs=16k",
                "--size=256m",
                "--numjobs=4",
                "--group_reporting",
                "--time_based",
                "--output-format=terse",
            ])
            .arg(format!("--filename={}", file.display()))
            .arg(format!("--rw={rw}"))
            .arg(format!("--runtime={seconds}"))
            .args(options)
            .output()?;
        let device_rate = (completed(&device)? - before) as f64 / f64::from(seconds);
        let text = String::from_utf8(out.stdout)?;
        // Fields 8 and 49 of the terse format, version 3: read and write operations a second.
        let fields: Vec<&str> = text.lines().last().unwrap_or_default().split(';').collect();
        let rate = |at: usize| fields.get(at - 1).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
        let fio = rate(8) + rate(49);
        println!(
            "{name:<18} fio {fio:>6.0}   device {device_rate:>6.0}   device against limit {:+.1} %",
            (device_rate / f64::from(limit) - 1.0) * 100.0
        );
    }
    throttle.off()?;
    drop(machine);
    std::fs::remove_dir_all(root)?;
    Ok(())
}

/// Name of the device that is mounted on a folder.
fn device_of(mount: &Path) -> Result<String, Box<dyn Error>> {
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    let line = mounts
        .lines()
        .find(|line| line.split(' ').nth(1) == mount.to_str())
        .ok_or("the disk is not mounted")?;
    Ok(line.split(' ').next().unwrap_or_default().trim_start_matches("/dev/").to_owned())
}

/// Reads and writes that a device has completed.
fn completed(device: &str) -> Result<u64, Box<dyn Error>> {
    let stat = std::fs::read_to_string(format!("/sys/block/{device}/stat"))?;
    let fields: Vec<u64> = stat.split_whitespace().map_while(|f| f.parse().ok()).collect();
    Ok(fields.first().unwrap_or(&0) + fields.get(4).unwrap_or(&0))
}
