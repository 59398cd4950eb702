//! Callchains of switch-outs in a Firefox profile.

use crate::support::{exported, session};
use export::Options;
use export::formats::firefox::Firefox;
use model::{EventKind, StackFrame, StackId, Tid};

#[test]
fn a_blocked_stretch_has_its_callchain() {
    let mut trace = testkit::trace("cpu0 A As B B");
    trace.batch.stacks.push([0x30, 0x20, u64::MAX - 511, 0x10].map(StackFrame::at).into());
    for event in &mut trace.batch.events {
        if let EventKind::Switch(switch) = &mut event.what
            && switch.prev == Tid(1)
        {
            switch.stack = StackId(1);
        }
    }
    let session = session(trace.facts, trace.batch);
    let profile = exported(&Firefox, &session, &Options::default());
    let profile: serde_json::Value = serde_json::from_slice(&profile).expect("JSON");
    let threads = profile["threads"].as_array().expect("threads");
    let thread = threads.iter().find(|t| t["tid"] == "1").expect("A");
    let causes: Vec<_> = thread["markers"]["data"].as_array().expect("markers").iter().map(|d| &d["cause"]).collect();
    let [running, blocked] = causes.as_slice() else { panic!("{causes:?}") };
    assert!(running.is_null(), "{running}");
    let mut names = Vec::new();
    let mut stack = blocked["stack"].as_u64();
    while let Some(at) = stack.map(|s| s as usize) {
        let (stacks, frames, functions) = (&thread["stackTable"], &thread["frameTable"], &thread["funcTable"]);
        let of = |table: &serde_json::Value, column: &str, at: usize| table[column][at].as_u64().map(|v| v as usize);
        let function = of(frames, "func", of(stacks, "frame", at).unwrap()).unwrap();
        names.push(thread["stringArray"][of(functions, "name", function).unwrap()].as_str().unwrap().to_owned());
        stack = stacks["prefix"][at].as_u64();
    }
    // Innermost first; of callers, the address before the one returned to.
    assert_eq!(names, ["0x30", "0x1f", "0xf"]);
}

#[test]
fn firefox_has_each_sample_with_its_callchain_and_no_other_counts() {
    // The second sample is before B runs.
    let trace = testkit::trace("cpu0 A A A B B .\nsample . A=spin<main . B=early . B=wait<main,B=wait<main");
    let session = session(trace.facts, trace.batch);
    let profile = exported(&Firefox, &session, &Options::default());
    let profile: serde_json::Value = serde_json::from_slice(&profile).expect("JSON");
    let mut found = Vec::new();
    for thread in profile["threads"].as_array().expect("threads") {
        let samples = &thread["samples"];
        for at in 0..samples["length"].as_u64().unwrap_or(0) as usize {
            let weight = samples["weight"][at].as_i64().unwrap_or(1);
            if weight == 0 {
                continue;
            }
            let (mut names, mut stack) = (Vec::new(), samples["stack"][at].as_u64());
            while let Some(at) = stack.map(|s| s as usize) {
                let (stacks, frames, functions) = (&thread["stackTable"], &thread["frameTable"], &thread["funcTable"]);
                let frame = stacks["frame"][at].as_u64().unwrap() as usize;
                let name = functions["name"][frames["func"][frame].as_u64().unwrap() as usize].as_u64().unwrap();
                names.push(thread["stringArray"][name as usize].as_str().unwrap().to_owned());
                stack = stacks["prefix"][at].as_u64();
            }
            found.push(format!("{} {} {weight}", thread["name"].as_str().unwrap(), names.join("<")));
        }
    }
    found.sort();
    assert_eq!(found, ["A spin<main 1", "B early 1", "B wait<main 1", "B wait<main 1"]);
}
