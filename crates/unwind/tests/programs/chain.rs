//! A chain of calls in Rust, without frame pointers.

use std::hint::black_box;

unsafe extern "C" {
    safe fn stepping_begins();
    safe fn stepping_ends();
}

fn leaf(value: u64) -> u64 {
    let mut all: Vec<u64> = (0..value % 16).map(black_box).collect();
    all.sort_unstable_by_key(|n| n ^ 5);
    format!("{all:?}").len() as u64
}

macro_rules! links {
    ($($name:ident calls $next:ident;)*) => {
        $(#[inline(never)]
        fn $name(value: u64) -> u64 {
            let kept = black_box(value);
            let result = $next(black_box(value + 1));
            black_box(result + kept)
        })*
    };
}

links! {
    link_01 calls link_02; link_02 calls link_03; link_03 calls link_04; link_04 calls link_05; link_05 calls link_06;
    link_06 calls link_07; link_07 calls link_08; link_08 calls link_09; link_09 calls link_10; link_10 calls link_11;
    link_11 calls link_12; link_12 calls link_13; link_13 calls link_14; link_14 calls link_15; link_15 calls link_16;
    link_16 calls link_17; link_17 calls link_18; link_18 calls link_19; link_19 calls link_20; link_20 calls link_21;
    link_21 calls link_22; link_22 calls link_23; link_23 calls link_24; link_24 calls link_25; link_25 calls leaf;
}

fn main() {
    stepping_begins();
    black_box(link_01(1));
    stepping_ends();
}
