/* SPDX-License-Identifier: BSD-2-Clause */
/* rwsems.c - locks of many readers or one writer. */
#include <linux/bug.h>
#include <linux/rwsem.h>

void(down_read)(struct rw_semaphore *sem)
{
	pthread_mutex_lock(&sem->emu_lock);
	while (sem->emu_written || sem->emu_waiting)
		pthread_cond_wait(&sem->emu_changed, &sem->emu_lock);
	sem->emu_readers++;
	pthread_mutex_unlock(&sem->emu_lock);
}

void(down_write)(struct rw_semaphore *sem)
{
	pthread_mutex_lock(&sem->emu_lock);
	sem->emu_waiting++;
	while (sem->emu_written || sem->emu_readers)
		pthread_cond_wait(&sem->emu_changed, &sem->emu_lock);
	sem->emu_waiting--;
	sem->emu_written = true;
	pthread_mutex_unlock(&sem->emu_lock);
}

int down_read_trylock(struct rw_semaphore *sem)
{
	bool free;

	pthread_mutex_lock(&sem->emu_lock);
	free = !sem->emu_written && !sem->emu_waiting;
	sem->emu_readers += free;
	pthread_mutex_unlock(&sem->emu_lock);
	return free;
}

int down_write_trylock(struct rw_semaphore *sem)
{
	bool free;

	pthread_mutex_lock(&sem->emu_lock);
	free = !sem->emu_written && !sem->emu_readers;
	sem->emu_written |= free;
	pthread_mutex_unlock(&sem->emu_lock);
	return free;
}

void up_read(struct rw_semaphore *sem)
{
	pthread_mutex_lock(&sem->emu_lock);
	BUG_ON(!sem->emu_readers);
	sem->emu_readers--;
	pthread_cond_broadcast(&sem->emu_changed);
	pthread_mutex_unlock(&sem->emu_lock);
}

void up_write(struct rw_semaphore *sem)
{
	pthread_mutex_lock(&sem->emu_lock);
	BUG_ON(!sem->emu_written);
	sem->emu_written = false;
	pthread_cond_broadcast(&sem->emu_changed);
	pthread_mutex_unlock(&sem->emu_lock);
}

void downgrade_write(struct rw_semaphore *sem)
{
	pthread_mutex_lock(&sem->emu_lock);
	BUG_ON(!sem->emu_written);
	sem->emu_written = false;
	sem->emu_readers++;
	pthread_cond_broadcast(&sem->emu_changed);
	pthread_mutex_unlock(&sem->emu_lock);
}

int rwsem_is_locked(struct rw_semaphore *sem)
{
	bool locked;

	pthread_mutex_lock(&sem->emu_lock);
	locked = sem->emu_written || sem->emu_readers;
	pthread_mutex_unlock(&sem->emu_lock);
	return locked;
}
