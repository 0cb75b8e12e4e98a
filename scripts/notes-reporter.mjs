/**
 * A vitest reporter that says once per reason what was skipped, and which tests passed only when they ran once more. It
 * comes before the default one, whose summary is last.
 */
export default class NotesReporter {
  onTestRunEnd(modules) {
    const places = new Map();
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const reason = test.result().note;
        if (reason) places.set(reason, [...(places.get(reason) ?? []), module.relativeModuleId]);
      }
    }
    for (const [reason, files] of places) {
      process.stdout.write(`\nskipped  ${reason}\n${files.map((file) => `         in ${file}\n`).join("")}`);
    }
    for (const module of modules) {
      for (const test of module.children.allTests("passed")) {
        if (!test.diagnostic()?.flaky) continue;
        const reason = test.result().errors?.[0]?.message ?? "no reason given";
        process.stdout.write(`\nunsteady  ${test.fullName}\n          in ${module.relativeModuleId}: ${reason}\n`);
      }
    }
  }
}
