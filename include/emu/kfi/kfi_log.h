/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_log.h - lines in the kernel's log, by level. Each begins with MODULE_NAME, which a source may define, also again. */
#ifndef EMU_KFI_LOG_H
#define EMU_KFI_LOG_H

#include <linux/printk.h>

#ifndef MODULE_NAME
#define MODULE_NAME "KFI"
#endif

#define EMU_KFI_SAY(pr, format, ...) pr("%s: " format "\n", MODULE_NAME, ##__VA_ARGS__)
#define EMU_KFI_SAY_WHERE(pr, format, ...) pr("%s - %s:%d: " format "\n", MODULE_NAME, __func__, __LINE__, ##__VA_ARGS__)

#define LOG_INFO(format, ...) EMU_KFI_SAY(pr_info, format, ##__VA_ARGS__)
#define LOG_NOTICE(format, ...) EMU_KFI_SAY(pr_notice, format, ##__VA_ARGS__)
#define LOG_DEBUG(format, ...) EMU_KFI_SAY_WHERE(pr_debug, format, ##__VA_ARGS__)
#define LOG_WARN(format, ...) EMU_KFI_SAY_WHERE(pr_warn, format, ##__VA_ARGS__)
#define LOG_ERR(format, ...) EMU_KFI_SAY_WHERE(pr_err, format, ##__VA_ARGS__)
#define LOG_ERR_RL(format, ...) EMU_KFI_SAY_WHERE(pr_err_ratelimited, format, ##__VA_ARGS__)
#define LOG_CRIT(format, ...) EMU_KFI_SAY_WHERE(pr_crit, format, ##__VA_ARGS__)
#define LOG_ALERT(format, ...) EMU_KFI_SAY_WHERE(pr_alert, format, ##__VA_ARGS__)
#define LOG_EMERG(format, ...) EMU_KFI_SAY_WHERE(pr_emerg, format, ##__VA_ARGS__)

#endif
