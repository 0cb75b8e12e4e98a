import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";

/** Runs `work` while holding the lock file. Takes over the lock of a process that has exited. */
export async function withLock(file, work) {
  mkdirSync(dirname(file), { recursive: true });
  while (!acquire(file)) await setTimeout(100);
  const release = () => rmSync(file, { force: true });
  process.once("exit", release);
  try {
    return await work();
  } finally {
    process.off("exit", release);
    release();
  }
}

/** Creates the lock as a hard link, which appears with its content, so that a lock always has an owner. */
function acquire(file) {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (ownerIsGone(file)) removeStale(file);
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

/** Returns false when there is no lock: it was just released, and the next one belongs to another process. */
function ownerIsGone(file) {
  const owner = attempt("ENOENT", () => readFileSync(file, "utf8"));
  if (owner === undefined) return false;
  try {
    process.kill(Number(owner), 0);
    return false;
  } catch (error) {
    return error.code !== "EPERM";
  }
}

/** Moves the lock and checks it again. If another process has taken it over in the meantime, restores it. */
function removeStale(file) {
  const taken = `${file}.${process.pid}.gone`;
  attempt("ENOENT", () => renameSync(file, taken));
  if (!ownerIsGone(taken)) attempt("EEXIST", () => attempt("ENOENT", () => linkSync(taken, file)));
  rmSync(taken, { force: true });
}

/** Returns the result of the call, or undefined when it fails with this code. */
function attempt(code, call) {
  try {
    return call();
  } catch (error) {
    if (error.code !== code) throw error;
    return undefined;
  }
}
