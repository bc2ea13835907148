//! A bounded sketch of latencies: a histogram on a logarithmic scale.
//!
//! Four buckets per octave from 1 µs to about 9 minutes: any quantile is within 10 % of the exact value, memory is
//! fixed, and old values fade because all counts are halved whenever the window is full.

use std::time::Duration;

const PER_OCTAVE: f64 = 4.0;
const BUCKETS: usize = 116;
const WINDOW: u32 = 2048;

#[derive(Clone, Debug, PartialEq)]
pub struct LatencySketch {
    counts: [u16; BUCKETS],
    total: u32,
}

impl Default for LatencySketch {
    fn default() -> Self {
        LatencySketch { counts: [0; BUCKETS], total: 0 }
    }
}

impl LatencySketch {
    pub fn add(&mut self, latency: Duration) {
        if self.total >= WINDOW {
            self.fade();
        }
        let micros = latency.as_secs_f64() * 1e6;
        let index = (micros.max(1.0).log2() * PER_OCTAVE).round() as usize;
        self.counts[index.min(BUCKETS - 1)] += 1;
        self.total += 1;
    }

    fn fade(&mut self) {
        self.total = 0;
        for count in &mut self.counts {
            *count /= 2;
            self.total += u32::from(*count);
        }
    }

    /// Adds the values of another sketch.
    pub fn absorb(&mut self, other: &LatencySketch) {
        if self.total + other.total > WINDOW {
            self.fade();
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.total = self.counts.iter().map(|count| u32::from(*count)).sum();
        if self.total > WINDOW {
            self.fade();
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.counts.iter().flat_map(|count| count.to_le_bytes()).collect()
    }

    /// Reads what [`Self::to_bytes`] wrote; anything else gives an empty sketch.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut sketch = LatencySketch::default();
        if bytes.len() == 2 * BUCKETS {
            for (count, pair) in sketch.counts.iter_mut().zip(bytes.chunks_exact(2)) {
                *count = u16::from_le_bytes([pair[0], pair[1]]).min(WINDOW as u16);
            }
            sketch.total = sketch.counts.iter().map(|count| u32::from(*count)).sum();
        }
        while sketch.total > WINDOW {
            sketch.fade();
        }
        sketch
    }

    /// The latency at quantile `q`; `None` without values.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        if self.total == 0 {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * f64::from(self.total - 1)).round() as u32;
        let mut seen = 0u32;
        let index = self.counts.iter().position(|count| {
            seen += u32::from(*count);
            seen > rank
        })?;
        Some(Duration::from_secs_f64((index as f64 / PER_OCTAVE).exp2() * 1e-6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
