//! Work that other threads of the program do instead: a pool of one thread does what eight did, or the main thread what its workers did.
//!
//! What a role computes more in all may be what other roles compute less. As far as the two make up for each other, the program's work is the
//! same: on the path it cancels, and what remains of it on the path ran in parallel on the other side. With `G` the running time that roles
//! gained in all and `L` what others lost, `min(1, L / G)` of each gain has moved, and `min(1, G / L)` of each loss.

use super::speed::Split;

/// A role's change on the path, and its running time in all on A and on B.
pub(super) struct Role {
    pub(super) split: Split,
    pub(super) whole: [f64; 2],
    /// Whether it is of the recorded program: what other programs compute is not its work.
    pub(super) is_own: bool,
}

/// Takes moved work from the work of all roles. What it leaves on the path is serial: of the roles that gained, if it is more, or else of those
/// that lost. Then serial time of one sign cancels that of the other: of threads that run in parallel, the path goes through another one. The sum over
/// all roles stays.
pub(super) fn separate(roles: &mut [Role]) {
    separate_work(roles);
    let sum = |sign: f64| roles.iter().map(|role| (role.split.serial * sign).max(0.0)).sum::<f64>();
    let (more, less) = (sum(1.0), sum(-1.0));
    for role in roles {
        let serial = role.split.serial;
        let of = if serial > 0.0 { more } else { less };
        role.split.serial = if of > 0.0 { serial * ((of - more.min(less)) / of) } else { 0.0 };
    }
}

fn separate_work(roles: &mut [Role]) {
    let whole = |role: &Role| if role.is_own { role.whole[1] - role.whole[0] } else { 0.0 };
    let gained: f64 = roles.iter().map(|role| whole(role).max(0.0)).sum();
    let lost: f64 = roles.iter().map(|role| (-whole(role)).max(0.0)).sum();
    if gained <= 0.0 || lost <= 0.0 {
        return;
    }
    // The part of a role's work that has moved, ns.
    let moved = |role: &Role| {
        let work = if role.is_own { role.split.work } else { 0.0 };
        work * if work > 0.0 { (lost / gained).min(1.0) } else { (gained / lost).min(1.0) }
    };
    let sum = |sign: f64| roles.iter().map(|role| moved(role) * sign).filter(|ns| *ns > 0.0).sum::<f64>() * sign;
    let (to, from) = (sum(1.0), sum(-1.0));
    let left = to + from;
    let of = if left > 0.0 { to } else { from };
    for role in roles {
        let part = moved(role);
        role.split.work -= part;
        if part * left > 0.0 {
            role.split.serial += left * part / of;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn separated<const N: usize>(roles: [(f64, [f64; 2]); N]) -> [[f64; 2]; N] {
        let mut roles =
            roles.map(|(work, whole)| Role { split: Split { work, ..Split::default() }, whole, is_own: true });
        separate(&mut roles);
        roles.map(|role| [role.split.work, role.split.serial])
    }

    #[test]
    fn one_thread_that_does_the_work_of_a_pool_is_serial() {
        // The main thread computes 800 ns, of which four workers did 200 ns each at the same time.
        let found = separated([(800.0, [0.0, 800.0]), (-200.0, [800.0, 0.0])]);
        assert_eq!(found, [[0.0, 600.0], [0.0, 0.0]]);
    }

    #[test]
    fn a_gain_without_a_loss_is_work() {
        assert_eq!(separated([(300.0, [100.0, 400.0]), (0.0, [50.0, 50.0])]), [[300.0, 0.0], [0.0, 0.0]]);
    }

    #[test]
    fn a_loss_by_chance_takes_only_as_much_from_a_gain() {
        let [[work, serial], other] = separated([(300.0, [100.0, 400.0]), (-3.0, [50.0, 47.0])]);
        assert!((work - 297.0).abs() < 1e-9 && serial.abs() < 1e-9, "{work} {serial}");
        assert_eq!(other, [0.0, 0.0]);
    }

    #[test]
    fn another_path_through_threads_in_parallel_is_no_change() {
        let role = |serial| Role { split: Split { serial, ..Split::default() }, whole: [9.0, 9.0], is_own: true };
        let mut roles = [role(50.0), role(-20.0), role(10.0)];
        separate(&mut roles);
        assert_eq!(roles.map(|role| role.split.serial.round()), [33.0, 0.0, 7.0]);
    }

    #[test]
    fn work_of_other_programs_is_not_the_work_of_the_program() {
        let role = |work, whole, is_own| Role { split: Split { work, ..Split::default() }, whole, is_own };
        let mut roles = [role(300.0, [100.0, 400.0], true), role(-300.0, [400.0, 100.0], false)];
        separate(&mut roles);
        assert_eq!(roles.map(|role| [role.split.work, role.split.serial]), [[300.0, 0.0], [-300.0, 0.0]]);
    }

    #[test]
    fn the_sum_stays() {
        let found =
            separated([(700.0, [10.0, 900.0]), (-120.0, [500.0, 90.0]), (40.0, [5.0, 60.0]), (-3.0, [9.0, 1.0])]);
        let sum: f64 = found.iter().flatten().sum();
        assert!((sum - 617.0).abs() < 1e-9, "{found:?}");
    }
}
