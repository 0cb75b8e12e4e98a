/** Compiled by the type check, never run: the types of tasks in `reset`. */
import * as v from "valibot";
import * as z from "zod";
