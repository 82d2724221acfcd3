use std::sync::Arc;

#[cfg(feature = "rayon")]
use super::FileMemory;
use super::job;
use super::{Charge, Limits, Meter, reserve_vec, take_block, zeroed_vec};
use crate::report::{Cause, ErrorKind, Limit};

#[test]
fn meters_show_what_they_hold() {
    let meter = Meter::of_call(&Limits::default());
    let _charge = meter.take(64, "x").unwrap();
    assert_eq!(format!("{meter:?}"), "Meter { held: 64, work: 0, .. }");
}

#[test]
#[cfg(feature = "rayon")]
fn a_file_keeps_what_its_limit_leaves() {
    let limits = Limits::default().with_max_total_bytes(100);
    let memory = FileMemory::new(&limits, 0);
    let all = memory.left();
    assert!(all > 60, "{all}");
    assert!(memory.admits(40));
    assert_eq!(memory.left(), all - 40);
    let charge = memory.charge(20).unwrap();
    assert_eq!(memory.left(), all - 60);
    assert!(!memory.admits(all));
    drop(charge);
    assert_eq!(memory.left(), all - 40);
}

#[test]
fn room_is_charged_and_memory_that_suffices_stays() {
    let meter = Meter::of_call(&Limits::default().with_max_block_bytes(64));
    let mut out = vec![1_u32];
    reserve_vec(&meter, &mut out, 0, 16, "x").unwrap();
    assert!(out.is_empty() && out.capacity() >= 16);
    assert_eq!(meter.held(), 64);
    let place = out.as_ptr();
    reserve_vec(&meter, &mut out, 0, 4, "x").unwrap();
    assert_eq!((out.as_ptr(), meter.held()), (place, 80));
    assert_eq!(
        reserve_vec(&meter, &mut out, 0, 17, "x")
            .unwrap_err()
            .kind(),
        ErrorKind::LimitExceeded
    );
}

#[test]
fn vec_refuses_what_is_over_the_limit_and_what_overflows() {
    let meter = Meter::of_call(&Limits::default().with_max_block_bytes(64));
    assert_eq!(zeroed_vec::<u32>(&meter, 0, 16, "x").unwrap(), [0; 16]);
    for count in [17, u64::MAX / 4, u64::MAX] {
        let error = zeroed_vec::<u32>(&meter, 0, count, "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        let expected = "above the limit of 64 bytes; raise it with Limits::with_max_block_bytes";
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[test]
fn blocks_together_are_at_most_the_total() {
    let meter = Meter::of_call(&Limits::default().with_max_total_bytes(100));
    let mut first = take_block(&meter, 0, 60, "x").unwrap();
    let error = take_block(&meter, 0, 60, "x").unwrap_err();
    let expected = "x needs 120 bytes, above the limit of 100 bytes; raise it with Limits::with_max_total_bytes";
    assert_eq!(error.to_string(), expected);
    assert_eq!(meter.left(), 40);
    meter.take(30, "x").unwrap().keep();
    assert!(meter.take(11, "x").is_err() && !first.try_grow(11) && first.try_grow(10));
    first.shrink_to(50);
    assert_eq!((first.bytes(), meter.held()), (50, 80));
    drop(first);
    assert_eq!((meter.held(), meter.left()), (30, 70));
}

#[test]
fn errors_name_the_limit_that_is_exceeded() {
    let meter = Meter::of_call(
        &Limits::default()
            .with_max_block_bytes(64)
            .with_max_total_bytes(32),
    );
    for (bytes, limit) in [(64, "max_total_bytes"), (65, "max_block_bytes")] {
        let error = meter.exceeded(0, bytes, "x");
        assert!(error.to_string().contains(limit), "{error}");
    }
}

#[test]
fn parts_give_back_what_they_do_not_keep_and_hold_no_more_than_their_cap() {
    let meter = Meter::of_call(&Limits::default().with_max_total_bytes(100));
    let part = meter.part_of_at_most(50);
    part.take(40, "x").unwrap().keep();
    meter.take(30, "x").unwrap().keep();
    assert_eq!(
        (part.held(), part.left(), meter.held(), meter.left()),
        (40, 10, 70, 30)
    );
    assert!(part.take(11, "x").is_err() && part.take(10, "x").is_ok());
    meter.take(25, "x").unwrap().keep();
    assert_eq!(part.left(), 5);
    let inner = part.part();
    assert!(inner.take(6, "x").is_err());
    inner.take(5, "x").unwrap().keep();
    inner.commit();
    assert_eq!((part.held(), meter.left()), (45, 0));
    drop(part);
    assert_eq!((meter.held(), meter.left()), (55, 45));
}

#[test]
fn what_a_file_keeps_counts_for_the_call_and_against_no_cap() {
    let meter = Meter::of_call(&Limits::default().with_max_total_bytes(100));
    let capped = meter.part_of_at_most(20);
    let attempt = capped.part();
    attempt.take_kept(60, "x").unwrap();
    attempt.take(20, "x").unwrap().keep();
    assert!(attempt.take(1, "x").is_err() && meter.left() == 20);
    drop(attempt);
    assert_eq!((capped.left(), meter.left()), (20, 100));
    assert!(capped.take_kept(101, "x").is_err());
}

#[test]
fn what_is_stored_large_may_decode_large() {
    let limits = Limits::default()
        .with_max_block_bytes(10)
        .with_max_total_bytes(20);
    let meter = Meter::of_part(&limits, &(100..110));
    assert_eq!(
        (
            meter.block(10),
            meter.block(1),
            meter.block(0),
            meter.left()
        ),
        (160, 16, 10, 160)
    );
    drop(take_block(&meter, 10, 160, "x").unwrap());
    let error = take_block(&meter, 10, 161, "x").unwrap_err();
    let cause = |limit, remedy| {
        let needed = Some(161);
        Cause::Limit {
            limit,
            allowed: 160,
            needed,
            count: None,
            remedy,
        }
    };
    assert_eq!(
        *error.cause(),
        cause(Limit::BlockBytes, "Limits::with_max_block_bytes")
    );
    let error = meter.part().take(161, "x").unwrap_err();
    assert_eq!(
        *error.cause(),
        cause(Limit::TotalBytes, "Limits::with_max_total_bytes")
    );
    let strict = Meter::of_part(&limits.with_free_ratio(0), &(100..110));
    assert_eq!((strict.block(10), strict.left()), (10, 20));
}

#[test]
fn reading_the_same_bytes_again_allows_no_more() {
    let meter = Meter::of_call(&Limits::default().with_max_total_bytes(0));
    (0..100).for_each(|_| meter.part().count_read(&(5..15)));
    assert_eq!(meter.left(), 15 * 16);
}

#[test]
fn calls_within_a_job_are_charged_to_it_and_work_is_not_given_back() {
    let limits = Limits::default().with_max_total_bytes(100);
    let job = Arc::new(Meter::new(&limits, 10));
    job.run(|| {
        let call = Meter::of_call(&limits);
        call.take(60, "x").unwrap().keep();
        call.work(2 << 30, "x").unwrap();
        assert_eq!((job.held(), call.held()), (160 - job.left(), 60));
        let other = Meter::of_call(&limits);
        assert_eq!(other.left(), 100);
        other.take(100, "x").unwrap().keep();
        assert!(call.take(1, "x").is_err() && call.left() == 0);
        job::unmetered(|| assert_eq!(Meter::of_call(&limits).left(), 100));
    });
    assert_eq!(job.held(), 0);
    job.work(10 * 4096, "x").unwrap();
    let error = job.work(1, "x").unwrap_err();
    let expected = "x exceeds the limit of 2 GiB of decoding and other work; \
                    raise it with Limits::with_max_total_bytes";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn counts_do_not_begin_again_at_zero() {
    let meter = Meter::new(&Limits::default(), u64::MAX);
    meter.count_file(10);
    assert_eq!(meter.left(), u64::MAX);
    let small = Meter::new(&Limits::default(), 0);
    for _ in 0..2 {
        assert!(small.work(u64::MAX, "x").is_err());
    }
    assert_eq!(small.worked(), u64::MAX);
}

#[test]
#[cfg_attr(miri, ignore = "Miri ends the program where memory runs out")]
fn vec_that_the_machine_cannot_give_is_an_error() {
    let limits = Limits::default()
        .with_max_block_bytes(u64::MAX)
        .with_max_total_bytes(u64::MAX);
    let meter = Meter::of_call(&limits);
    let error = zeroed_vec::<u64>(&meter, 0, 1 << 59, "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn shared_charges_belong_to_what_owns_the_memory() {
    let meter = Arc::new(Meter::new(&Limits::default().with_max_total_bytes(100), 0));
    let mut charge = Charge::shared(&meter);
    charge.grow(60, "x").unwrap();
    let error = charge.grow(41, "x").unwrap_err();
    let expected = "x needs 101 bytes, above the limit of 100 bytes; raise it with Limits::with_max_total_bytes";
    assert_eq!(error.to_string(), expected);
    let owner = std::thread::spawn(move || charge.bytes());
    assert_eq!(owner.join().unwrap(), 60);
    assert_eq!(meter.held(), 0);
}
