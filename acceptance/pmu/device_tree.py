"""Gives a QEMU machine (aarch64, `virt`) several kinds of PMU: an edit of its device tree.

QEMU describes one PMU for all CPUs. The edit replaces it by one node per kind. They share an interrupt (PPI 7, one line for all CPUs),
which GICv3's `ppi-partitions` divide among the nodes; with them every interrupt specifier has a fourth cell, zero elsewhere.
"""

import re

# PPI 7 of GICv3, level-triggered.
INTERRUPT = "1 7 4"
# Above the handles that QEMU gives out.
FIRST_HANDLE = 0x9300


def with_kinds(source, kinds, capacities=()):
    """Returns the tree's text (dts) with these kinds of PMU instead of its one; kinds are (CPUs, compatible, capacity). `capacities`: those
    of all CPUs, if some belong to no kind."""
    handles = {int(cpu, 16): handle for cpu, handle in re.findall(r"cpu@([0-9a-f]+) \{\s*phandle = <(0x[0-9a-f]+)>", source)}
    lacking = [cpu for cpus, _, _ in kinds for cpu in cpus if cpu not in handles]
    if lacking or "intc@8000000" not in source or "\tpmu {" not in source:
        raise ValueError(f"not a device tree of QEMU's virt machine with GICv3, a PMU and CPUs {lacking or 'as needed'}")
    text = re.sub(r"(\binterrupts = <)([^>]*)>", lambda found: wider(found, 3), source)
    text = re.sub(r"(interrupt-map = <)([^>]*)>", lambda found: wider(found, 10), text)
    before, controller = text[:text.index("intc@8000000")], text[text.index("intc@8000000"):]
    controller = controller.replace("#interrupt-cells = <0x03>", "#interrupt-cells = <0x04>", 1)
    controller = controller.replace("its@", partitions(kinds, handles) + "its@", 1)
    text = re.sub(r"\tpmu \{.*?\n\t\};\n", lambda _: pmus(kinds), before + controller, count=1, flags=re.S)
    for cpu, capacity in (dict(enumerate(capacities)) or {cpu: capacity for cpus, _, capacity in kinds for cpu in cpus}).items():
        text = re.sub(rf"(cpu@{cpu:x} \{{\s*phandle = <0x[0-9a-f]+>;)", rf"\1 capacity-dmips-mhz = <{capacity}>;", text)
    return text


def wider(found, size):
    """Returns a property whose entries of `size` cells each have one more."""
    cells = found[2].split()
    return found[1] + " ".join(" ".join([*cells[i:i + size], "0"]) for i in range(0, len(cells), size)) + ">"


def partitions(kinds, handles):
    nodes = "".join(f" interrupt-partition-{k} {{ phandle = <{FIRST_HANDLE + k:#x}>; affinity = <{' '.join(handles[cpu] for cpu in cpus)}>; }};"
                    for k, (cpus, _, _) in enumerate(kinds))
    return f"ppi-partitions {{{nodes} }}; "


def pmus(kinds):
    return "".join(f'\tpmu-{k} {{ compatible = "{compatible}"; interrupts = <{INTERRUPT} {FIRST_HANDLE + k:#x}>; }};\n'
                   for k, (_, compatible, _) in enumerate(kinds))
