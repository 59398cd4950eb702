//! Roles, conditions, what was not compared, and methods.

use super::super::select::{self, gone_and_new, matched};
use super::super::text::values_of;
use super::super::words::{clean, short};
use super::{NAME, Page};
use crate::outcome::Comparison;
use model::words::plural;
use page::escaped;
use std::fmt::Write as _;

pub fn roles(page: &mut Page, of: &Comparison) {
    if of.roles.is_empty() {
        return;
    }
    let [gone, new] = gone_and_new(&of.roles).map(|roles| roles.len());
    let both = of.roles.len() - gone - new;
    page.section("roles", &format!("Roles: {both} on both sides, {gone} gone, {new} new"));
    let row = |role: &crate::outcome::RoleLine| {
        let sign = match role.matched_by {
            "only_a" => "− ",
            "only_b" => "+ ",
            _ => "",
        };
        let [a, b] = role.threads.map(|threads| if threads == 0.0 { "-".to_owned() } else { number(threads) });
        vec![short(&role.name, NAME), a, b, format!("{sign}{}", matched(role.matched_by)), role.confidence.to_owned()]
    };
    let heads = ["role", "threads of A", "threads of B", "matched", "confidence"];
    let (own, others): (Vec<_>, Vec<_>) = of.roles.iter().partition(|role| role.is_own);
    page.table("roles", &heads, &[1, 2], own.into_iter().map(row));
    if !others.is_empty() {
        let summary = format!("{} of other programs and of the kernel", plural(others.len() as u64, "role"));
        let _ = writeln!(page.body, "<details>\n<summary id=\"other-roles\">{}</summary>", escaped(&summary));
        page.table("other-roles", &heads, &[1, 2], others.into_iter().map(row));
        page.body.push_str("</details>\n");
    }
    page.end();
}

/// A number of threads, which is a median.
fn number(of: f64) -> String {
    if of.fract() == 0.0 { format!("{of:.0}") } else { format!("{of:.1}") }
}

pub fn conditions(page: &mut Page, of: &Comparison) {
    if of.conditions.is_empty() {
        return;
    }
    page.section("conditions", "Conditions that differ");
    let rows = select::conditions(of).into_iter().map(|condition| {
        let [a, b] = condition.values.each_ref().map(|values| values_of(values));
        let note = if condition.matters { "! can change results by itself" } else { "describes the runs" };
        vec![short(&condition.name.replace('_', " "), 40), a, b, note.to_owned()]
    });
    page.table("conditions", &["condition", "A", "B", "meaning"], &[], rows);
    page.end();
}

/// What was not compared, and methods.
pub fn rest(page: &mut Page, of: &Comparison) {
    for (id, heading, lines) in
        [("not-compared", "Not compared", &of.not_compared), ("methods", "Methods", &of.methods)]
    {
        if lines.is_empty() {
            continue;
        }
        page.section(id, heading);
        page.body.push_str("<ul>\n");
        lines.iter().for_each(|line| {
            let _ = writeln!(page.body, "<li>{}</li>", escaped(&clean(line)));
        });
        page.body.push_str("</ul>\n");
        page.end();
    }
}
