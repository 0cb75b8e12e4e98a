import { expect, test } from "vitest";
import { readInside } from "./look-inside.js";

const STATUS = `Name:\tnode
Uid:\t65532\t65532\t65532\t65532
CapPrm:\t0000000000000000
CapEff:\t0000000000000000
CapBnd:\t0000000000000000
NoNewPrivs:\t1`;
const BOUNDED = {
  version: 2,
  memory: "268435456",
  swap: "0",
  cpu: "150000 100000",
  pids: "256",
  peak: "100000000",
  events: "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0",
};

function read(cgroup: object, more: object = {}) {
  const tmp = { size: 1024, used: 512 };
  return readInside(JSON.stringify({ processes: [STATUS], mounts: [], tmp, hasSwap: true, cgroup, ...more }));
}

test("limits and use are read from version 2 of cgroups", () => {
  const { limits, usage, processes } = read(BOUNDED);
  expect(limits).toEqual({ memory: 268_435_456, swap: 0, cpus: 1.5, processes: 256, tmp: 1024 });
  expect(usage).toEqual({ peakMemory: 100_000_000, tmp: 512, oomKills: 2 });
  const none = "0000000000000000";
  const uids = Array.from({ length: 4 }, () => 65_532);
  expect(processes).toEqual([{ uids, capabilities: [none, none, none], noNewPrivileges: true }]);
});

test("version 1 counts memory and swap together", () => {
  const events = "oom_kill_disable 0\nunder_oom 0\noom_kill 0";
  const { limits, usage } = read({ ...BOUNDED, version: 1, swap: "300000000", events });
  expect([limits.swap, usage.oomKills]).toEqual([300_000_000 - 268_435_456, 0]);
});

test("what nothing bounds is infinite, and swap that the machine has not is bounded", () => {
  const open = { version: 2, memory: "max", swap: "max", cpu: "max 100000", pids: "", peak: "", events: "" };
  const { limits, usage } = read(open);
  const unbounded = { memory: Infinity, swap: Infinity, cpus: Infinity, processes: Infinity };
  expect(limits).toMatchObject(unbounded);
  expect(usage).toMatchObject({ peakMemory: Number.NaN, oomKills: Number.NaN });
  const first = { ...open, version: 1, memory: "9223372036854771712", swap: "9223372036854771712", cpu: "-1 100000" };
  expect(read(first).limits).toMatchObject(unbounded);
  expect(read(open, { hasSwap: false }).limits.swap).toBe(0);
});

test("a mount that can be written to counts when it is on a disk", () => {
  const mounts = [
    "607 502 0:55 / / ro,relatime - overlay overlay rw,lowerdir=/a",
    "608 607 0:59 / /proc rw,nosuid - proc proc rw",
    "609 607 0:60 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw,size=65536k",
    "610 607 8:1 /volumes/x /data rw,relatime master:1 - ext4 /dev/sda1 rw,errors=remount-ro",
    "611 607 8:1 /hosts /etc/hosts ro,relatime - ext4 /dev/sda1 rw",
    "612 607 8:2 /y /frozen rw,relatime - ext4 /dev/sdb1 ro",
    "",
  ];
  expect(read(BOUNDED, { mounts }).writableMounts).toEqual(["/data"]);
});
