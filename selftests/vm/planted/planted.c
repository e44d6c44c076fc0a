// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with faults on purpose: the VM harness must notice each of them.
 * Loading it with fault=NAME triggers one.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>

static char *fault = "";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "warn, oops, message, freed, asleep, inverted, lost, late, shift or race");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);

/* Reads what it has freed. */
static void plant_freed(void)
{
	int *p = kmalloc(64, GFP_KERNEL);

	if (!p)
		return;
	kfree(p);
	pr_info("freed memory has %d\n", READ_ONCE(p[3]));
}

static void plant_asleep(void)
{
	spin_lock(&spin);
	msleep(20);
	spin_unlock(&spin);
}

/* No task ever waits for the other: only the order is wrong. */
static void plant_inverted(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void plant_lost(void)
{
	int i;

	/* some addresses stay in registers and on the stack, where they count as known */
	for (i = 0; i < 10; i++) {
		void *lost = kmalloc(1000, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(lost);
		lost = NULL;
		OPTIMIZER_HIDE_VAR(lost);
	}
}

static void plant_shift(void)
{
	int by = 40 + (int)strlen(fault) - 5;

	pr_info("shifted too far: %d\n", 1 << READ_ONCE(by));
}

static void late_handler(struct timer_list *t)
{
}

/* A timer that still runs goes with its memory. */
static void plant_late(void)
{
	struct timer_list *t = kmalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return;
	timer_setup(t, late_handler, 0);
	mod_timer(t, jiffies + 100 * HZ);
	kfree(t);
}

static int raced;

static int race_run(void *unused)
{
	while (!kthread_should_stop()) {
		raced++;
		cond_resched();
	}
	return 0;
}

/* Two threads count in one variable, without a lock, for some seconds. */
static void plant_race(void)
{
	struct task_struct *first_task, *second_task;

	first_task = kthread_run(race_run, NULL, "race/1");
	second_task = kthread_run(race_run, NULL, "race/2");
	ssleep(3);
	if (!IS_ERR(first_task))
		kthread_stop(first_task);
	if (!IS_ERR(second_task))
		kthread_stop(second_task);
}

static const struct {
	const char *name;
	void (*plant)(void);
} checked[] = {
	{ "freed", plant_freed },
	{ "asleep", plant_asleep },
	{ "inverted", plant_inverted },
	{ "lost", plant_lost },
	{ "shift", plant_shift },
	{ "late", plant_late },
	{ "race", plant_race },
};

/* Faults that only a kernel with its own checks sees. */
static bool plant_checked(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(checked); i++) {
		if (!strcmp(fault, checked[i].name)) {
			checked[i].plant();
			return true;
		}
	}
	return false;
}

static int __init planted_init(void)
{
	if (!strcmp(fault, "warn")) {
		WARN_ON_ONCE(1);
	} else if (!strcmp(fault, "oops")) {
		/* Not NULL: the compiler would see that and emit a trap. */
		WRITE_ONCE(*(int *)ERR_PTR(-ENOMEM), 1);
	} else if (!strcmp(fault, "message")) {
		/* A fault that the kernel survives, and only reports. */
		pr_emerg("unregister_netdevice: waiting for planted to become free\n");
	} else if (!plant_checked()) {
		return -EINVAL;
	}
	return 0;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("Faults for the VM harness to find");
MODULE_LICENSE("GPL");
