import { checkEnvironment, checkServer } from "openenv-ts/testing";

export const report = await checkEnvironment({} as never);
export const failed = report.checks.filter(({ status }) => status === "failed");
export const served = await checkServer("http://localhost:8000");
export const slow = served.checks.slice(0, 3);
