//! Readers that do one thing wrong: an error, or the reader's own panic, for the caller who was served, and for nobody else.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use meshmap::cgeo::Dialect;
use meshmap::{Options, Source};
use meshmap_testing::calls::every;
use meshmap_testing::faulty::{Ending, Fault, Faulty, Key, Looking, silence_own_panics};
use meshmap_testing::{fixtures, with_watchdog};

/// All calls on a file, and once more on the same handle.
fn looked(reader: &std::sync::Arc<Faulty>) -> Looking {
    let mut looking = Looking::new(reader.clone(), 2);
    every(
        &Source::ranged(reader.clone()),
        &Options::default(),
        &mut looking,
    );
    looking
}

/// The problem of a run whose reader had a fault, if there is one.
fn wrong(
    healthy: &Looking,
    found: &Looking,
    fault: Fault,
    stable: &BTreeSet<Key>,
) -> Option<String> {
    for key in &found.order {
        let ending = &found.endings[key];
        let expected = healthy.endings.get(key);
        let is_hit = found.hit.as_ref() == Some(key);
        let told = || {
            format!(
                "{key:?}: {ending:?} in place of {expected:?}, reader hit {:?}",
                found.hit
            )
        };
        match ending {
            Ending::OtherPanic(_) => return Some(told()),
            Ending::OwnPanic if !is_hit || fault != Fault::Panics => return Some(told()),
            Ending::OwnPanic => continue,
            Ending::Value(..) => {}
        }
        // The length is asked for once: after a wrong one, everything may be different.
        if fault == Fault::OtherLength || !stable.contains(key) || Some(ending) == expected {
            continue;
        }
        let is_error = matches!(ending, Ending::Value(_, errors) if *errors > 0);
        if !is_hit || !is_error {
            return Some(told());
        }
    }
    None
}

fn check(name: &str, body: Vec<u8>) {
    silence_own_panics();
    // The first ones, and then some: they become more of the same.
    const ALL_OF: usize = 24;
    const STEP: usize = 61;
    let body = Bytes::from(body);
    let reader = Faulty::healthy(body.clone());
    let (healthy, again) = (looked(&reader), looked(&Faulty::healthy(body.clone())));
    let stable: BTreeSet<Key> = healthy
        .order
        .iter()
        .filter(|key| healthy.endings.get(*key) == again.endings.get(*key))
        .cloned()
        .collect();
    let unstable: Vec<_> = healthy
        .order
        .iter()
        .filter(|key| !stable.contains(key))
        .collect();
    assert!(
        unstable.is_empty(),
        "values that change by themselves: {unstable:?}"
    );
    assert!(
        healthy
            .endings
            .values()
            .all(|ending| matches!(ending, Ending::Value(..)))
    );
    let calls = reader.calls();
    let mut faults = BTreeSet::new();
    for (offset, fault) in Fault::ALL.into_iter().enumerate() {
        for at in
            (0..calls).filter(|at| *at < ALL_OF || (at + offset * ALL_OF).is_multiple_of(STEP))
        {
            let reader = Faulty::new(body.clone(), fault, at);
            let found = with_watchdog(Duration::from_secs(60), || looked(&reader));
            // Beyond the length, a lie about it is the whole difference.
            let of_length = found
                .hit
                .as_ref()
                .is_none_or(|hit| hit.1 == "Format::detect")
                && at < 2;
            let fault_seen = if of_length && matches!(fault, Fault::Short | Fault::Long) {
                Fault::OtherLength
            } else {
                fault
            };
            if let Some(text) = wrong(&healthy, &found, fault_seen, &stable) {
                faults.insert(format!("{fault:?} at {at} of {calls}: {text}"));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{name}: {} faults:\n{}",
        faults.len(),
        faults.into_iter().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn faults_of_readers_of_cgeo_stay_with_their_callers() {
    let (_, snapshots) = fixtures::cgeo::animation(20, 8);
    let dialect = Dialect::default().with_codec(meshmap::Codec::Stored);
    check("cgeo", fixtures::cgeo::file(&snapshots, dialect));
}

#[test]
fn faults_of_readers_of_iqm_stay_with_their_callers() {
    let writer = fixtures::iqm::Writer::sheets(2, 60, 60);
    check("iqm", writer.animated(4, 300).to_bytes());
}

#[test]
fn faults_of_readers_of_openctm_stay_with_their_callers() {
    use fixtures::openctm::{Body, MG1, MG2, RAW};
    let bodies = [RAW, MG1, MG2].map(|method| {
        let mut body = Body::sheet(method, 5);
        // So that not all of the file is read at first.
        body.comment = vec![b'x'; 70 << 10];
        body.to_bytes()
    });
    check("openctm", bodies.concat());
}

#[test]
fn faults_of_readers_of_slmesh_stay_with_their_callers() {
    check("slmesh", fixtures::slmesh::large(24));
}

#[test]
fn faults_of_readers_of_tmf_stay_with_their_callers() {
    check("tmf", fixtures::tmf::grid(120));
}
