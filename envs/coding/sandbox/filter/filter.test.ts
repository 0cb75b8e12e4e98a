import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { describe, expect, test } from "vitest";
import { decide } from "../../test-support/bpf.js";
import { ALLOW, assemble, fail, KILL_PROCESS } from "./bpf.js";
import { renderFilter } from "./filter.js";
import { ARCHITECTURES, JUDGED, REFUSED } from "./syscalls.js";

const { EPERM, ENOSYS, EAFNOSUPPORT } = constants.errno;
const [UNIX, INET, INET6, NETLINK, PACKET, ALG, VSOCK] = [1, 2, 10, 16, 17, 38, 40];
const [STREAM, DGRAM, SEQPACKET, CLOEXEC] = [1, 2, 5, 0x8_0000];
const NEW_FLAGS = [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
/** What the C library passes to make a thread. */
const THREAD = 0x3d_0f00;
/** Numbers of read, execve, futex and prctl. */
const ORDINARY = { x64: [0, 59, 202, 157], arm64: [63, 221, 98, 167] };
const HEADERS = {
  x64: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
  arm64: "/usr/include/asm-generic/unistd.h",
};

describe.each(["x64", "arm64"] as const)("the filter for %s", (name) => {
  const { audit, column } = ARCHITECTURES[name];
  const ask = (unixSockets: boolean, number: number, args: number[] = []) =>
    decide(renderFilter(name, { unixSockets }) as Buffer, { number, architecture: audit, args });

  test.each([true, false])("refuses what it lists and allows ordinary calls, with named unix sockets: %s", (unix) => {
    for (const [call, numbers] of Object.entries(REFUSED)) {
      expect(ask(unix, numbers[column]), call).toBe(fail(EPERM));
    }
    for (const number of ORDINARY[name]) expect(ask(unix, number), String(number)).toBe(ALLOW);
  });

  test("allows sockets of the family unix only, by the lower half of the argument, which the kernel reads", () => {
    for (const family of [INET, INET6, NETLINK, PACKET, ALG, VSOCK, 0, 2 ** 32 + INET]) {
      for (const call of ["socket", "socketpair"] as const) {
        expect(ask(true, JUDGED[call][column], [family, STREAM])).toBe(fail(EAFNOSUPPORT));
        expect(ask(false, JUDGED[call][column], [family, STREAM])).toBe(fail(EAFNOSUPPORT));
      }
    }
    for (const type of [STREAM, DGRAM, SEQPACKET | CLOEXEC]) {
      expect(ask(true, JUDGED.socket[column], [UNIX, type])).toBe(ALLOW);
      expect(ask(true, JUDGED.socketpair[column], [UNIX, type])).toBe(ALLOW);
    }
  });

  test("without named unix sockets allows only pairs that cannot send elsewhere", () => {
    expect(ask(false, JUDGED.socket[column], [UNIX, STREAM])).toBe(fail(EAFNOSUPPORT));
    expect(ask(false, JUDGED.socketpair[column], [UNIX, STREAM | CLOEXEC])).toBe(ALLOW);
    expect(ask(false, JUDGED.socketpair[column], [UNIX, SEQPACKET])).toBe(ALLOW);
    expect(ask(false, JUDGED.socketpair[column], [UNIX, DGRAM | CLOEXEC])).toBe(fail(EPERM));
  });

  test("lets clone make processes and threads, not namespaces, and has no clone3", () => {
    const clone = JUDGED.clone[column];
    expect(ask(true, clone, [17])).toBe(ALLOW);
    expect(ask(true, clone, [THREAD])).toBe(ALLOW);
    for (const flag of NEW_FLAGS) expect(ask(true, clone, [flag | 17]), flag.toString(16)).toBe(fail(EPERM));
    expect(ask(true, JUDGED.clone3[column])).toBe(fail(ENOSYS));
  });

  test("kills what calls by the numbers of another architecture", () => {
    const program = renderFilter(name, { unixSockets: true }) as Buffer;
    const others = Object.values(ARCHITECTURES).filter((other) => other.audit !== audit);
    for (const architecture of [0x4000_0003, ...others.map((other) => other.audit)]) {
      expect(decide(program, { number: 0, architecture })).toBe(KILL_PROCESS);
    }
  });

  test.skipIf(!existsSync(HEADERS[name]))("has the numbers of this machine's kernel headers", () => {
    const rows = readFileSync(HEADERS[name], "utf8").matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm);
    const known = new Map([...rows].map(([, call = "", number]) => [call, Number(number)]));
    const table = Object.entries({ ...REFUSED, ...JUDGED }).filter(([call]) => known.has(call));
    expect(table.length).toBeGreaterThan(35);
    for (const [call, numbers] of table) expect(numbers[column], call).toBe(known.get(call));
  });
});

test("calls of the x32 ABI, whose architecture is that of x64, do not exist", () => {
  const program = renderFilter("x64", { unixSockets: true }) as Buffer;
  for (const number of [0x4000_0000, 0x4000_0000 + REFUSED.ptrace[0], 0xffff_ffff]) {
    expect(decide(program, { number, architecture: ARCHITECTURES.x64.audit })).toBe(fail(ENOSYS));
  }
});

test("other architectures have no filter", () => {
  expect(renderFilter("riscv64", { unixSockets: true })).toBeUndefined();
});

describe("the assembler", () => {
  test("counts jumps from the next instruction, over labels", () => {
    const program = assemble([
      { load: "number" },
      { test: "equal", value: 7, yes: "seven" },
      { label: "nowhere" },
      { answer: 1 },
      { label: "seven" },
      { answer: 2 },
    ]);
    expect(program.toString("hex")).toBe("2000000000000000150001000700000006000000010000000600000002000000");
    expect(decide(program, { number: 7, architecture: 0 })).toBe(2);
    expect(decide(program, { number: 8, architecture: 0 })).toBe(1);
  });

  test("refuses labels that a jump cannot reach", () => {
    const jump = { test: "equal", value: 1, yes: "end" } as const;
    const gap = Array.from({ length: 256 }, () => ({ answer: 0 }));
    expect(() => assemble([jump, ...gap, { label: "end" }])).toThrow("255 instructions");
    expect(() => assemble([{ label: "end" }, jump])).toThrow(RangeError);
    expect(() => assemble([jump])).toThrow('label "end"');
  });
});
