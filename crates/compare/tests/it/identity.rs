//! Laws of the split by counters, for any counts.

use compare::{Run, explain};
use proptest::prelude::*;

/// Elapsed and CPU time, instructions and cycles.
fn run(of: [f64; 4]) -> Run {
    let ids = ["elapsed", "cpu_ns", "instructions", "cycles"];
    Run { values: ids.into_iter().map(str::to_owned).zip(of).collect(), ..Run::default() }
}

fn counts() -> impl Strategy<Value = [f64; 4]> {
    prop::array::uniform4(1e3_f64..1e12)
}

proptest! {
    #[test]
    fn pieces_sum_to_the_change(a in counts(), b in counts()) {
        let why = explain(&[&run(a)], &[&run(b)]).unwrap();
        let sum: f64 = why.pieces.iter().map(|piece| piece.ns).sum();
        let scale = why.pieces.iter().map(|piece| piece.ns.abs()).fold(a[0].max(b[0]), f64::max);
        prop_assert!((sum - (b[0] - a[0])).abs() <= 1e-9 * scale, "{why:?}");
    }

    /// From B to A, each piece has the other sign.
    #[test]
    fn the_split_is_symmetric(a in counts(), b in counts()) {
        let (there, back) = (explain(&[&run(a)], &[&run(b)]).unwrap(), explain(&[&run(b)], &[&run(a)]).unwrap());
        for piece in &there.pieces {
            let other = back.pieces.iter().find(|p| p.cause == piece.cause).unwrap();
            prop_assert!((piece.ns + other.ns).abs() <= 1e-9 * piece.ns.abs().max(1e-3), "{piece:?} {other:?}");
        }
    }

    /// If only the cycles grow and the CPU time with them, CPI has the whole change.
    #[test]
    fn one_factor_has_all_of_its_change(a in counts(), by in 1.01_f64..100.0) {
        let why = explain(&[&run(a)], &[&run([a[0] * by, a[1] * by, a[2], a[3] * by])]).unwrap();
        let change = why.means[1] - why.means[0];
        prop_assert_eq!(&why.pieces[0].cause, "cpi");
        prop_assert!((why.pieces[0].ns - change).abs() <= 1e-9 * change);
    }
}
