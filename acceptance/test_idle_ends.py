"""Tests of idle_ends.py's reader of ftrace's text and of its pairing, without corewise."""

import unittest

import idle_ends

SWITCH = "{0}-{1} [{2:03}] d..2. {3}: sched_switch: prev_comm={0} prev_pid={1} prev_prio=120 prev_state={4} ==> "
SWITCH += "next_comm=x next_pid={5} next_prio=120"
WAKING = "{0}-{1} [{2:03}] d..4. {3}: sched_waking: comm=x pid={4} prio=120 target_cpu=000"
OTHER = "{0}-{1} [{2:03}] d.h1. {3}: {4}"


def idle(cpu, at, event):
    return OTHER.format("<idle>", 0, cpu, f"10.{at:06}", event)


def timer(cpu, at, function, edge="entry", kind="hrtimer"):
    return idle(cpu, at, f"{kind}_expire_{edge}: {kind}=00 function={function} now=1" if edge == "entry" else f"{kind}_expire_{edge}: {kind}=00")


def switch(cpu, at, prev, state, following):
    return SWITCH.format("<idle>" if prev == 0 else "x", prev, cpu, f"10.{at:06}", state, following)


def waking(cpu, at, waker, woken):
    return WAKING.format("<idle>" if waker == 0 else "x", waker, cpu, f"10.{at:06}", woken)


def what(lines):
    return [stay[2:7] for stay in idle_ends.truth(lines)[0]]


class Reader(unittest.TestCase):
    def test_the_tick_serves_a_timer_that_wakes_the_thread(self):
        lines = [switch(0, 100, 7, "S", 0), idle(0, 110, "cpu_idle: state=1 cpu_id=0"), timer(0, 500, "tick_nohz_handler"),
                 timer(0, 505, "", "exit"), idle(0, 510, "cpu_idle: state=4294967295 cpu_id=0"),
                 idle(0, 520, "softirq_entry: vec=1 [action=TIMER]"), timer(0, 525, "process_timeout", kind="timer"), waking(0, 530, 0, 7),
                 timer(0, 535, "", "exit", "timer"), idle(0, 540, "softirq_exit: vec=1 [action=TIMER]"), switch(0, 550, 0, "R", 7)]
        self.assertEqual(what(lines), [("timer", "timer process_timeout", None, 7, 400)])

    def test_a_stay_that_the_tick_ends_does_not_end_the_period(self):
        lines = [switch(0, 100, 7, "S", 0), idle(0, 110, "cpu_idle: state=1 cpu_id=0"), timer(0, 500, "tick_sched_timer"),
                 timer(0, 505, "", "exit"), idle(0, 510, "cpu_idle: state=4294967295 cpu_id=0"), idle(0, 600, "cpu_idle: state=2 cpu_id=0"),
                 idle(0, 900, "cpu_idle: state=4294967295 cpu_id=0"), waking(1, 890, 9, 7), switch(0, 950, 0, "R", 7)]
        self.assertEqual(what(lines), [("tick", "timer tick_sched_timer", None, None, 400), ("thread", None, 9, 7, 300)])

    def test_a_device_s_softirq_does_the_device_s_work(self):
        lines = [switch(0, 100, 7, "S", 0), idle(0, 110, "cpu_idle: state=1 cpu_id=0"), idle(0, 300, "irq_handler_entry: irq=24 name=card"),
                 idle(0, 305, "irq_handler_exit: irq=24 ret=handled"), idle(0, 310, "softirq_entry: vec=3 [action=NET_RX]"),
                 waking(0, 320, 0, 7), idle(0, 330, "softirq_exit: vec=3 [action=NET_RX]"), switch(0, 350, 0, "R", 7)]
        self.assertEqual(what(lines), [("device", "card", None, 7, None)])

    def test_a_thread_that_left_runnable_elsewhere_is_pulled(self):
        lines = [switch(0, 100, 7, "S", 0), switch(1, 200, 8, "R+", 9), switch(0, 300, 0, "R", 8)]
        self.assertEqual(what(lines), [("pulled", None, None, 8, None)])


    def test_a_thread_that_ran_unseen_has_used_its_wakeup(self):
        lines = [switch(0, 100, 7, "S", 0), idle(0, 110, "cpu_idle: state=1 cpu_id=0"), waking(1, 200, 9, 7), waking(1, 230, 7, 8),
                 idle(0, 300, "irq_handler_entry: irq=24 name=card"), waking(0, 305, 0, 7),
                 idle(0, 310, "irq_handler_exit: irq=24 ret=handled"), switch(0, 350, 0, "R", 7)]
        self.assertEqual(what(lines), [("device", "card", None, 7, None)])

    def test_what_ended_the_stay_also_wakes_ksoftirqd_after_it(self):
        lines = [switch(0, 100, 7, "S", 0), idle(0, 110, "cpu_idle: state=1 cpu_id=0"), idle(0, 300, "irq_handler_entry: irq=24 name=card"),
                 idle(0, 305, "irq_handler_exit: irq=24 ret=handled"), waking(0, 320, 0, 14), switch(0, 350, 0, "R", 14)]
        self.assertEqual(what(lines), [("device", "card", None, 14, None)])


class Pairs(unittest.TestCase):
    def test_stays_are_paired_by_the_time_of_their_end(self):
        of = [idle_ends.Stay(0, end, None, None, None, None) for end in (100, 1000, 5000)]
        near = [idle_ends.Stay(0, end, None, None, None, None) for end in (130, 4950.5, 9000)]
        self.assertEqual([found and found.end for _, found in idle_ends.paired(of, near)], [130, None, 4950.5])

    def test_the_nearest_stay_is_the_pair(self):
        of = [idle_ends.Stay(0, 100, None, None, None, None)]
        near = [idle_ends.Stay(0, end, None, None, None, None) for end in (40, 101, 160)]
        self.assertEqual([found.end for _, found in idle_ends.paired(of, near)], [101])


if __name__ == "__main__":
    unittest.main()
