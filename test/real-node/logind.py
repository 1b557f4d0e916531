#!/usr/bin/python3
"""A stand-in for systemd-logind, for the kubelet's graceful node shutdown: it lets the kubelet hold the shutdown up, and tells it
that one is about to begin (SIGUSR1) or is called off (SIGUSR2). Prints "inhibited" and "released".

Python, because an inhibitor is a file descriptor that is sent over the bus, which Node.js cannot do.
"""
import os
import signal

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

MANAGER = "org.freedesktop.login1.Manager"
MAX_DELAY_MICROSECONDS = 600_000_000


class Manager(dbus.service.Object):
    @dbus.service.method(MANAGER, in_signature="ssss", out_signature="h")
    def Inhibit(self, what, who, why, mode):
        held, given = os.pipe()
        print("inhibited", flush=True)
        GLib.io_add_watch(held, GLib.IO_HUP, self.released)
        inhibitor = dbus.types.UnixFd(given)
        os.close(given)
        return inhibitor

    def released(self, held, _condition):
        os.close(held)
        print("released", flush=True)
        return False

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, _interface, _name):
        return dbus.UInt64(MAX_DELAY_MICROSECONDS)

    @dbus.service.signal(MANAGER, signature="b")
    def PrepareForShutdown(self, begins):
        print("shutdown", "begins" if begins else "is called off", flush=True)


def announce(manager, begins):
    manager.PrepareForShutdown(begins)
    return True


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
name = dbus.service.BusName("org.freedesktop.login1", bus)
manager = Manager(bus, "/org/freedesktop/login1")
GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGUSR1, announce, manager, True)
GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGUSR2, announce, manager, False)
print("listening", flush=True)
GLib.MainLoop().run()
