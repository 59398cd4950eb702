/* Which group a thread belongs to. Part of watch.bpf.c. */
#ifndef COREWISE_GROUPS_H
#define COREWISE_GROUPS_H

INLINE struct kernfs_node *cgroup_of(struct task_struct *p)
{
	if (set.group_by == BY_CPU_CGROUP && ENUM_EXISTS(enum cgroup_subsys_id, cpu_cgrp_id))
		return p->cgroups->subsys[ENUM_VALUE(enum cgroup_subsys_id, cpu_cgrp_id)]->cgroup->kn;
	return p->cgroups->dfl_cgrp->kn;
}

/* Keeps the name of the thread's cgroup, once for each slot that is given to one. */
INLINE void note_name(struct task_struct *p, u32 slot)
{
	struct cgroup_name *name = map_lookup(&names, &slot);
	struct kernfs_node *kn = cgroup_of(p), *parent = 0;
	if (!name)
		return;
	if (FIELD_EXISTS(kn->__parent))
		READ(parent, kn->__parent);
	else if (FIELD_EXISTS(((struct kernfs_node___old *)kn)->parent))
		READ(parent, ((struct kernfs_node___old *)kn)->parent);
	name->parent = 0;
	if (parent)
		READ(name->parent, parent->id);
	probe_read_str(name->text, sizeof(name->text), kn->name);
	name->id = kn->id;
}

/* Takes a thread's place. `state`: its state, if it has not been seen yet. */
INLINE struct thread *claim(struct cpu_sums *c, u32 tid, u32 state)
{
	u32 key = tid & set.thread_mask;
	struct thread *t = map_lookup(&threads, &key);
	if (!t || likely(t->tid == tid))
		return t;
	if (t->state >= READY_PREEMPTED)
		__sync_fetch_and_add(&c->forgotten, 1);
	t->tid = tid;
	t->state = state;
	t->last_cpu = NO_CPU;
	t->slot = NO_SLOT;
	return t;
}

/* Finds the slot of the thread's group, or gives it a free one; 0: there is none. */
NOINLINE int find_slot(struct cpu_sums *c, struct thread *t, u32 cpu, bool kernel, struct task_struct *p)
{
	struct group_key key = {};
	if (!t || !c)
		return 0;
	key = t->key;
	if (set.group_by == BY_PROCESS) {
		u8 *name = (void *)&key;
		bool after = 0;
		/* Kernel threads of a kind count together: kworker/0:1 is kworker. Older kernels leave something after the end of a name. */
		for (u32 i = 0; i < sizeof(key); i++) {
			after |= !name[i] || (kernel && name[i] == '/');
			if (after)
				name[i] = 0;
		}
	}
	u32 *known = map_lookup(&slot_of_key, &key), slot = 0;
	if (known) {
		slot = *known;
	} else if (!set.chosen_only) {
		if (map_pop(&free_slots, &slot)) {
			slot = 0;
		} else if (map_update(&slot_of_key, &key, &slot, NO_EXIST)) {
			/* Another CPU was faster. */
			map_push(&free_slots, &slot, 0);
			known = map_lookup(&slot_of_key, &key);
			slot = known ? *known : 0;
		} else if (set.group_by != BY_PROCESS) {
			note_name(p, slot);
		}
		if (!slot)
			__sync_fetch_and_add(&c->overflows, 1);
	}
	struct group_sums *group = group_at(cpu, slot);
	t->slot = slot;
	t->generation = group ? group->generation : 0;
	return slot;
}

INLINE u32 slot_of(struct cpu_sums *c, struct thread *t, struct task_struct *p, u32 cpu, bool kernel)
{
	struct group_key key = {};
	if (!t || set.group_by == NOT_GROUPED)
		return 0;
	if (set.group_by == BY_PROCESS) {
		struct task_struct *leader = p->group_leader;
		key.word[0] = *(u64 *)&leader->comm[0];
		key.word[1] = *(u64 *)&leader->comm[8];
	} else {
		key.word[0] = cgroup_of(p)->id;
	}
	if (likely(t->slot < set.slots && t->key.word[0] == key.word[0] && t->key.word[1] == key.word[1])) {
		struct group_sums *group = group_at(cpu, t->slot);
		if (group && group->generation == t->generation)
			return t->slot;
	}
	t->key = key;
	return find_slot(c, t, cpu, kernel, p);
}

#endif
