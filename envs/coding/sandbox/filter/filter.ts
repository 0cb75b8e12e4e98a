import { constants } from "node:os";
import { ALLOW, assemble, type FilterStep, fail, KILL_PROCESS } from "./bpf.js";
import { ARCHITECTURES, type Architecture, JUDGED, REFUSED } from "./syscalls.js";

export interface FilterOptions {
  /** Unix sockets that have a name; without them only connected pairs, for programs that see those of the machine. */
  unixSockets: boolean;
}

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_TYPE_MASK = 0xf;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NEW_NAMESPACES = 0x7e02_0000;
/** Numbers from here are those of the x32 ABI, which the architecture does not show. */
const X32 = 0x4000_0000;
const { EPERM, ENOSYS, EAFNOSUPPORT } = constants.errno;

/** The seccomp program for this machine, undefined where its architecture has no table of system calls. */
export function renderFilter(architecture: string, options: FilterOptions): Buffer | undefined {
  return isKnown(architecture) ? assemble(listSteps(architecture, options)) : undefined;
}

function isKnown(architecture: string): architecture is Architecture {
  return architecture in ARCHITECTURES;
}

function listSteps(architecture: Architecture, { unixSockets }: FilterOptions): FilterStep[] {
  const { audit, column } = ARCHITECTURES[architecture];
  const when = (name: keyof typeof JUDGED): FilterStep => ({ test: "equal", value: JUDGED[name][column], yes: name });
  return [
    { load: "architecture" },
    { test: "equal", value: audit, no: "foreign" },
    { load: "number" },
    ...(architecture === "x64" ? [{ test: "at least", value: X32, yes: "unknown" } as const] : []),
    ...[when("clone"), when("clone3"), when("socket"), when("socketpair")],
    ...Object.values(REFUSED).map((row): FilterStep => ({ test: "equal", value: row[column], yes: "refused" })),
    { answer: ALLOW },

    { label: "clone" },
    { load: "argument 0" },
    { test: "any bit", value: NEW_NAMESPACES, yes: "refused" },
    { answer: ALLOW },

    { label: "socket" },
    ...(unixSockets ? isUnix("no family") : [{ answer: fail(EAFNOSUPPORT) }]),
    ...(unixSockets ? [{ answer: ALLOW }] : []),

    { label: "socketpair" },
    ...isUnix("no family"),
    // The ends of such a pair can send to any other unix socket.
    ...(unixSockets ? [] : refuseDatagrams()),
    { answer: ALLOW },

    { label: "foreign" },
    { answer: KILL_PROCESS },
    { label: "refused" },
    { answer: fail(EPERM) },
    { label: "no family" },
    { answer: fail(EAFNOSUPPORT) },
    // Its flags are behind a pointer, which a filter cannot follow; the C library then takes clone.
    { label: "clone3" },
    { label: "unknown" },
    { answer: fail(ENOSYS) },
  ];
}

function isUnix(otherwise: string): FilterStep[] {
  return [{ load: "argument 0" }, { test: "equal", value: AF_UNIX, no: otherwise }];
}

function refuseDatagrams(): FilterStep[] {
  return [{ load: "argument 1" }, { mask: SOCK_TYPE_MASK }, { test: "equal", value: SOCK_DGRAM, yes: "refused" }];
}
