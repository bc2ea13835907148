mod candidate {
    use super::super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn failures_of_the_caller_do_not_spoil_health() {
        let (stats, now, policy) = (CandidateStats::default(), Instant::now(), BreakerPolicy::default());
        for _ in 0..50 {
            stats.record(Err(ErrorKind::InvalidArguments), ms(1), now, &policy);
            stats.record(Err(ErrorKind::Cancelled), ms(1), now, &policy);
        }
        assert_eq!(stats.health(now), Health::default());
        assert_eq!(stats.view(now).calls, 100);
    }

    #[test]
    fn failing_and_slow_candidates_order_behind() {
        let (now, policy) = (Instant::now(), BreakerPolicy::default());
        let (good, slow, bad) =
            (CandidateStats::default(), CandidateStats::default(), CandidateStats::default());
        for _ in 0..3 {
            good.record(Ok(()), ms(1), now, &policy);
            slow.record(Ok(()), ms(400), now, &policy);
            bad.record(Err(ErrorKind::ToolError), ms(1), now, &policy);
        }
        assert!(good.health(now) < slow.health(now));
        assert!(slow.health(now) < bad.health(now));
    }

    #[test]
    fn the_view_counts_by_kind() {
        let (stats, now, policy) = (CandidateStats::default(), Instant::now(), BreakerPolicy::default());
        stats.record(Ok(()), ms(10), now, &policy);
        stats.record(Err(ErrorKind::Timeout), ms(30), now, &policy);
        let view = stats.view(now);
        assert_eq!((view.calls, view.successes), (2, 1));
        assert_eq!(view.failures, vec![(ErrorKind::Timeout, 1)]);
        assert!(view.latency_p50_ms.is_some_and(|p| (8.0..13.0).contains(&p)));
        assert!(view.last_success.is_some());
    }
}

mod record {
    use super::super::*;
    use proptest::prelude::*;

    type Sample = (Result<(), ErrorKind>, Duration, SystemTime);

    fn sample() -> impl Strategy<Value = Sample> {
        let ended = prop_oneof![
            3 => Just(Ok(())),
            1 => prop::sample::select(ErrorKind::ALL).prop_map(Err),
        ];
        (ended, 1u64..10_000_000).prop_map(|(ended, micros)| {
            let latency = Duration::from_micros(micros);
            (ended, latency, SystemTime::UNIX_EPOCH + latency)
        })
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(1.0)
    }

    proptest! {
        /// However calls are cut into pieces, and the pieces joined before they are applied: the numbers are those of
        /// counting call by call.
        #[test]
        fn pieces_come_to_the_same(
            samples in prop::collection::vec(sample(), 0..60),
            cuts in prop::collection::vec(any::<bool>(), 60),
            joins in prop::collection::vec(any::<bool>(), 60),
        ) {
            let mut whole = Record::default();
            let (mut pieces, mut piece) = (Vec::new(), Record::default());
            for ((ended, latency, at), cut) in samples.into_iter().zip(cuts) {
                whole.add(ended, latency, at);
                piece.add(ended, latency, at);
                if cut {
                    pieces.push(std::mem::take(&mut piece));
                }
            }
            pieces.push(piece);
            let (mut kept, mut waiting) = (Record::default(), Record::default());
            for (piece, join) in pieces.iter().zip(joins) {
                waiting.then(piece);
                if !join {
                    kept.then(&std::mem::take(&mut waiting));
                }
            }
            kept.then(&waiting);
            prop_assert_eq!((kept.calls, kept.successes, kept.failures), (whole.calls, whole.successes, whole.failures));
            prop_assert!(close(kept.success_rate(), whole.success_rate()));
            prop_assert_eq!(kept.latency_ms().is_some(), whole.latency_ms().is_some());
            prop_assert!(close(kept.latency_ms().unwrap_or(0.0), whole.latency_ms().unwrap_or(0.0)));
            prop_assert_eq!(kept.sketch, whole.sketch);
        }

        /// Two processes that write in turns: every call of both is counted, and the averages stay between the extremes.
        #[test]
        fn two_writers_lose_nothing(
            ours in prop::collection::vec(sample(), 1..30),
            theirs in prop::collection::vec(sample(), 1..30),
        ) {
            let mut kept = Record::default();
            for samples in [&ours, &theirs] {
                let mut delta = Record::default();
                samples.iter().for_each(|(ended, latency, at)| delta.add(*ended, *latency, *at));
                kept.then(&delta);
            }
            let failures: u64 = kept.failures.iter().sum();
            prop_assert_eq!(kept.calls as usize, ours.len() + theirs.len());
            prop_assert_eq!(kept.successes + failures, kept.calls);
            prop_assert!((0.0..=1.0).contains(&kept.success_rate()));
            prop_assert!(kept.latency_ms().is_none_or(|ms| (0.0..=10_000.0).contains(&ms)));
        }
    }
}

mod sketch {
    use super::super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_within_ten_percent(mut micros in prop::collection::vec(1u64..500_000_000, 1..500), q in 0.0f64..=1.0) {
            let mut sketch = LatencySketch::default();
            for m in &micros {
                sketch.add(Duration::from_micros(*m));
            }
            micros.sort_unstable();
            let truth = micros[(q * (micros.len() - 1) as f64).round() as usize] as f64;
            let got = sketch.quantile(q).map(|d| d.as_secs_f64() * 1e6).unwrap_or(0.0);
            prop_assert!((got / truth - 1.0).abs() < 0.1, "q {} truth {} got {}", q, truth, got);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_make_a_sketch(bytes in prop::collection::vec(any::<u8>(), 2 * BUCKETS)) {
            let mut sketch = LatencySketch::from_bytes(&bytes);
            prop_assert!(sketch.total <= WINDOW);
            sketch.add(Duration::from_millis(1));
            prop_assert_eq!(LatencySketch::from_bytes(&sketch.to_bytes()), sketch);
        }
    }

    #[test]
    fn joined_sketches_stay_bounded() {
        let mut full = LatencySketch::default();
        for _ in 0..5_000 {
            full.add(Duration::from_millis(3));
        }
        let other = full.clone();
        full.absorb(&other);
        assert!(full.total <= WINDOW && full.total > 0);
        assert_eq!(full.quantile(0.5), other.quantile(0.5));
        assert_eq!(LatencySketch::from_bytes(b"something else"), LatencySketch::default());
    }

    #[test]
    fn old_values_fade() {
        let mut sketch = LatencySketch::default();
        for _ in 0..2000 {
            sketch.add(Duration::from_millis(1));
        }
        for _ in 0..6000 {
            sketch.add(Duration::from_millis(100));
        }
        assert!(sketch.quantile(0.2).is_some_and(|d| d > Duration::from_millis(50)));
        assert!(sketch.total <= WINDOW);
    }
}

mod breaker {
    use super::super::*;

    fn policy() -> BreakerPolicy {
        BreakerPolicy { threshold: 2, rest: Duration::from_secs(10), longest_rest: Duration::from_secs(30) }
    }

    #[test]
    fn rests_after_failures_in_a_row_then_probes_once() {
        let (mut breaker, t0) = (Breaker::default(), Instant::now());
        breaker.failure(t0, &policy());
        assert_eq!(breaker.state(t0), BreakerState::Closed);
        breaker.failure(t0, &policy());
        assert_eq!(breaker.state(t0), BreakerState::Resting);
        let later = t0 + Duration::from_secs(10);
        assert_eq!(breaker.state(later), BreakerState::HalfOpen);
        breaker.begin(later);
        assert_eq!(breaker.state(later), BreakerState::Resting, "a second probe must wait");
        breaker.success();
        assert_eq!(breaker.state(later), BreakerState::Closed);
    }

    #[test]
    fn a_failed_probe_rests_twice_as_long_up_to_the_limit() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        breaker.failure(now, &policy());
        for rest in [10, 20, 30, 30] {
            breaker.failure(now, &policy());
            assert_eq!(breaker.state(now + Duration::from_secs(rest - 1)), BreakerState::Resting);
            now += Duration::from_secs(rest);
            assert_eq!(breaker.state(now), BreakerState::HalfOpen);
        }
    }

    #[test]
    fn a_cancelled_probe_leaves_the_way_free_for_the_next() {
        let (mut breaker, t0) = (Breaker::default(), Instant::now());
        breaker.failure(t0, &policy());
        breaker.failure(t0, &policy());
        let later = t0 + Duration::from_secs(11);
        breaker.begin(later);
        breaker.inconclusive();
        assert_eq!(breaker.state(later), BreakerState::HalfOpen);
    }

    #[test]
    fn a_rest_outlives_its_process() {
        let (mut breaker, t0, today) = (Breaker::default(), Instant::now(), SystemTime::now());
        breaker.failure(t0, &policy());
        breaker.failure(t0, &policy());
        let saved = breaker.saved(t0, today);
        let restored = |after| {
            let later = today + Duration::from_secs(after);
            Breaker::restored(&saved, t0, later)
        };
        assert_eq!(restored(9).state(t0), BreakerState::Resting);
        assert_eq!(restored(9).state(t0 + Duration::from_secs(2)), BreakerState::HalfOpen);
        assert_eq!(restored(60).state(t0), BreakerState::HalfOpen);
        let mut failed_again = restored(60);
        failed_again.begin(t0);
        failed_again.failure(t0, &policy());
        assert_eq!(
            failed_again.state(t0 + Duration::from_secs(19)),
            BreakerState::Resting,
            "the second rest"
        );
        assert_eq!(Breaker::restored(&SavedCooldown::default(), t0, today).state(t0), BreakerState::Closed);
    }

    #[test]
    fn a_success_between_failures_starts_the_count_again() {
        let (mut breaker, t0) = (Breaker::default(), Instant::now());
        for _ in 0..10 {
            breaker.failure(t0, &policy());
            breaker.success();
        }
        assert_eq!(breaker.state(t0), BreakerState::Closed);
    }
}
